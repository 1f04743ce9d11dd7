//! Fields of a form.

/// Names and values, as a browser posts them.
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads the fields of a body; a body that is no form has none.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// The first value of a name, or an empty one.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(given, _)| given == name).map_or("", |(_, value)| value)
    }

    /// All values of a name.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<String> {
        let own = self.0.iter().filter(|(given, _)| given == name);
        own.map(|(_, value)| value.clone()).collect()
    }
}
