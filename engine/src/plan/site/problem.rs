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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::request::tests::{site, van};

    #[test]
    fn a_problem_is_the_request_that_passed() {
        let request = site(&[10, 20], &[Device::Vehicle(van("van", 11.0, 5.0))]);
        assert_eq!(SiteProblem::new(request.clone()).unwrap().request(), &request);
        let twice = site(&[10], &[request.devices[0].clone(), request.devices[0].clone()]);
        let refused = SiteProblem::new(twice).unwrap_err();
        assert_eq!(refused, SiteError::NameTwice { name: "van".to_owned() });
    }
}
