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
    /// unknown; a drive overlaps another one, lies outside its session, holds a deadline or stands
    /// beside energy targets; there are too many slots.
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
