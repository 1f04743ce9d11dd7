//! A request for a site, checked.
use crate::plan::site::check;
use crate::plan::site::error::SiteError;
use crate::plan::site::request::SiteRequest;

/// A request that makes sense. Planning it cannot fail.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteProblem {
    request: SiteRequest,
}

impl SiteProblem {
    /// Checks a request.
    ///
    /// # Errors
    /// A number has the wrong sign or is out of measure; names repeat or name
    /// nothing; groups contain each other; a forecast or the carbon intensity
    /// is unknown while there is a price; later blocks of energy are cheaper;
    /// a taper is not concave; a state of charge is unknown.
    pub fn new(request: SiteRequest) -> Result<Self, SiteError> {
        check::check(&request)?;
        Ok(Self { request })
    }

    /// The request as it was checked.
    #[must_use]
    pub fn request(&self) -> &SiteRequest {
        &self.request
    }
}
