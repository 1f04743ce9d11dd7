//! Checked request for a plan of a site.
use crate::plan::site::check;
use crate::plan::site::error::SiteError;
use crate::plan::site::request::SiteRequest;

/// Request that passed [`SiteProblem::new`]. Planning it cannot fail.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteProblem {
    request: SiteRequest,
}

impl SiteProblem {
    /// Checks a request.
    ///
    /// # Errors
    /// A number is outside its range; a name is empty, repeated or refers to no group; groups
    /// contain each other; a forecast or the carbon intensity is missing at a time that has a
    /// price; a later block of energy is cheaper; a taper is not concave; a state of charge is
    /// unknown; there are too many slots.
    pub fn new(request: SiteRequest) -> Result<Self, SiteError> {
        check::check(&request)?;
        Ok(Self { request })
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &SiteRequest {
        &self.request
    }
}
