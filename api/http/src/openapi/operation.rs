//! Operation of the interface: a row of the tables that make the document.
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// Answer of an operation that succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// 200 with one object of that name.
    One(&'static str),
    /// 200 with a page of such objects; a bare array of all in version 2023-05-01.
    Page(&'static str),
    /// 200 with all such objects.
    All(&'static str),
    /// 200 with an object whose members have no printed names.
    Unnamed,
    /// 204.
    Nothing,
}

/// An operation of the service.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Its method.
    pub method: &'static str,
    /// Its path, with the names of its parameters.
    pub path: &'static str,
    /// The group that it is shown in.
    pub tag: &'static str,
    /// Summary of the operation.
    pub summary: &'static str,
    /// The name of what it takes.
    pub body: Option<&'static str>,
    /// Answer of the operation.
    pub answer: Answer,
    /// Statuses of its refusals, besides 401 and 429.
    pub refusals: &'static [u16],
}

impl Operation {
    pub(super) const fn get(
        path: &'static str,
        tag: &'static str,
        summary: &'static str,
        answer: Answer,
    ) -> Self {
        Self { method: "GET", path, tag, summary, body: None, answer, refusals: &[400] }
    }

    pub(super) const fn one(self) -> Self {
        Self { refusals: &[400, 404], ..self }
    }

    /// May wait for a manufacturer in version 2023-05-01.
    pub(super) const fn fetched(self) -> Self {
        let one: &[u16] = &[400, 404, 405, 408, 409, 424];
        let refusals = if matches!(self.answer, Answer::One(_)) { one } else { &[400, 404, 424] };
        Self { refusals, ..self }
    }

    pub(super) const fn hint(path: &'static str, tag: &'static str) -> Self {
        Self {
            method: "POST",
            path,
            tag,
            summary: "Asks for an early refresh. Takes no body and does not wait.",
            body: None,
            answer: Answer::Nothing,
            refusals: &[400, 404],
        }
    }

    pub(super) const fn post(
        path: &'static str,
        tag: &'static str,
        summary: &'static str,
        (body, answer): (Option<&'static str>, Answer),
        refusals: &'static [u16],
    ) -> Self {
        Self { method: "POST", path, tag, summary, body, answer, refusals }
    }

    pub(super) const fn delete(
        path: &'static str,
        tag: &'static str,
        summary: &'static str,
    ) -> Self {
        let (method, answer) = ("DELETE", Answer::Nothing);
        Self { method, path, tag, summary, body: None, answer, refusals: &[400, 404] }
    }
}

/// Adds a type to the schemas, with all types that it refers to.
pub(super) fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}
