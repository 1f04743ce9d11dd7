//! Charge points of an integration as operators see them, and what they do with them.
use serde_json::{Value, json};

use crate::edge::files::{FileError, Kept};
use crate::edge::hub::{Hub, run_blocking};
use crate::facts::{Reply, Request};

/// Reason why a charge point was not forgotten.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// A fuse is kept by what it may draw.
    #[error(
        "the charger {identity} is part of the site {site}, which counts what it may draw; remove \
         it from sites.{site} in the settings, start the service anew, and forget it then"
    )]
    InSite {
        /// Its identity.
        identity: String,
        /// Name of the site.
        site: String,
    },
    /// A file cannot be removed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A charge point in a list, as JSON.
#[must_use]
pub fn describe_briefly(identity: &str, kept: &Kept) -> Value {
    let station = &kept.station;
    json!({
        "identity": identity,
        "model": station.model,
        "is_connected": station.link.is_some(),
        "heard_at": station.heard_at,
        "connectors": station.connectors.len(),
        "links": kept.links.len(),
    })
}

/// A charge point whose state cannot be read, in a few fields.
#[must_use]
pub fn describe_failure(identity: &str, failure: &FileError) -> Value {
    json!({ "identity": identity, "error": failure.to_string() })
}

impl Hub {
    /// All charge points that were added, in the order of their identities. One whose state cannot
    /// be read has an `error` that names the file, in place of its state.
    ///
    /// # Errors
    /// The folder, or a file with credentials, cannot be read.
    pub async fn list_chargers(&self) -> Result<Vec<Value>, FileError> {
        let folder = self.folder().clone();
        let mut listed = Vec::new();
        for identity in run_blocking(move || folder.identities()).await? {
            listed.push(match self.point(&identity).await {
                Ok(point) => describe_briefly(&identity, &point.kept()),
                Err(failure) => describe_failure(&identity, &failure),
            });
        }
        Ok(listed)
    }

    /// Everything about a charge point with its last messages; `None` if it was not added.
    ///
    /// # Errors
    /// A file cannot be read.
    pub async fn show_charger(&self, identity: &str) -> Result<Option<Value>, FileError> {
        if self.credentials(identity).await?.is_none() {
            return Ok(None);
        }
        let point = self.point(identity).await?;
        let mut shown = {
            let kept = point.kept();
            let mut shown = kept.station.describe_state(&point.rules, self.clock.now());
            shown["links"] = json!(kept.links.len());
            shown
        };
        shown["identity"] = json!(identity);
        shown["site"] = json!(self.site_of(identity));
        shown["messages"] = point.messages().iter().map(|message| json!(message)).collect();
        Ok(Some(shown))
    }

    /// Sends a request to a charge point and waits for the reply; `None` if it was not added.
    ///
    /// # Errors
    /// A file cannot be read.
    pub async fn ask_charger(
        &self,
        identity: &str,
        request: Request,
    ) -> Result<Option<Reply>, FileError> {
        if self.credentials(identity).await?.is_none() {
            return Ok(None);
        }
        let Some(reply) = self.point(identity).await?.order(request) else {
            return Ok(Some(Reply::Lost));
        };
        Ok(Some(reply.await.unwrap_or(Reply::Lost)))
    }

    /// Removes a charge point with its files, and ends its connection. Returns false if it was not
    /// added.
    ///
    /// # Errors
    /// It is part of a site, or a file cannot be removed.
    pub async fn forget_charger(&self, identity: &str) -> Result<bool, ForgetError> {
        if let Some(site) = self.site_of(identity) {
            let identity = identity.to_owned();
            return Err(ForgetError::InSite { identity, site: site.to_owned() });
        }
        let folder = self.folder().clone();
        let (files, name) = (folder.clone(), identity.to_owned());
        // Without credentials no other connection begins from here on.
        let was_added = run_blocking(move || files.forget_credentials(&name)).await?;
        // It stays in memory until its file is gone, so that nobody reads that file anew.
        let point = self.find_point(identity);
        if let Some(point) = &point {
            point.forget();
        }
        let _turn = match &point {
            Some(point) => Some(point.saving.lock().await),
            None => None,
        };
        let name = identity.to_owned();
        run_blocking(move || folder.forget_state(&name)).await?;
        if let Some(point) = self.remove_point(identity) {
            // Another one, if somebody read the file in between.
            point.forget();
        }
        Ok(was_added)
    }
}
