//! The documentation as one page that loads nothing, from anywhere.
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use axum::response::Html;
use serde_json::Value;

use slackwater_http::openapi;

static PAGE: LazyLock<String> = LazyLock::new(|| {
    let document = serde_json::to_value(openapi::build_document());
    render_page(&document.expect("the document is made of text and numbers"))
});

const STYLE: &str = "
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0 } h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) }
code { font: .9em ui-monospace, monospace }
section { border: 1px solid var(--line); border-radius: .5rem; padding: .2rem 1rem; margin: 1rem 0 }
section h3 { font: 600 1rem ui-monospace, monospace } .method { display: inline-block; min-width: 4.5em }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top;
padding: .25rem .8rem .25rem 0; border-top: 1px solid var(--line) } th { font-weight: 600 }
nav a { margin-right: 1rem } details { margin: .4rem 0 }
";

/// Sends the page.
pub async fn send_page() -> Html<&'static str> {
    Html(PAGE.as_str())
}

fn render_page(document: &Value) -> String {
    let mut page = String::new();
    let info = &document["info"];
    let (title, about) = (escape_text(&info["title"]), escape_text(&info["description"]));
    // Writing to a text cannot fail.
    let _: std::fmt::Result = write!(
        page,
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content='width=device-width'>\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1><p>{about}</p>\
         <p>The same as <a href=/openapi.json>OpenAPI 3.1</a>; <a href=/metrics>metrics</a>.</p><nav>"
    );
    let mut groups = BTreeMap::<&str, String>::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or_default();
            groups.entry(tag).or_default().push_str(&render_operation(method, path, operation));
        }
    }
    for tag in groups.keys() {
        let _: std::fmt::Result = write!(page, "<a href='#{}'>{tag}</a>", make_anchor(tag));
    }
    page.push_str("<a href=#schemas>Objects</a></nav>");
    for (tag, sections) in &groups {
        let _: std::fmt::Result =
            write!(page, "<h2 id='{}'>{tag}</h2>{sections}", make_anchor(tag));
    }
    page.push_str("<h2 id=schemas>Objects</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        page.push_str(&render_object(name, schema));
    }
    page.push_str("</html>\n");
    page
}

fn render_operation(method: &str, path: &str, operation: &Value) -> String {
    let method = method.to_uppercase();
    let summary = escape_text(&operation["summary"]);
    let mut rows = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = escape_text(&parameter["name"]);
        let (place, about) =
            (escape_text(&parameter["in"]), escape_text(&parameter["description"]));
        rows.push(format!("<tr><td><code>{name}</code><td>{place}<td>{about}"));
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        rows.push(format!("<tr><td>body<td><td>{}", render_schema(body)));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let content = response["content"].as_object().into_iter().flatten().next();
        let shape =
            content.map(|(_, content)| render_schema(&content["schema"])).unwrap_or_default();
        rows.push(format!("<tr><td>{status}<td>answer<td>{shape}"));
    }
    format!(
        "<section><h3><span class=method>{method}</span> {path}</h3><p>{summary}</p><details>\
         <summary>Parameters and answers</summary><table>{}</table></details></section>",
        rows.concat(),
    )
}

fn render_object(name: &str, schema: &Value) -> String {
    let about = escape_text(&schema["description"]);
    let row = |(member, shape): (&String, &Value)| {
        let about = escape_text(&shape["description"]);
        format!("<tr><td><code>{member}</code><td>{}<td>{about}", render_schema(shape))
    };
    let rows: Vec<String> =
        schema["properties"].as_object().into_iter().flatten().map(row).collect();
    format!(
        "<section id='schema-{name}'><h3>{name}</h3><p>{about}</p><table>{}</table></section>",
        rows.concat(),
    )
}

/// A schema in a few words, with links to objects.
fn render_schema(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("<a href='#schema-{name}'>{name}</a>");
    }
    if let Some(several) = schema["oneOf"].as_array() {
        return several.iter().map(render_schema).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::Array(types) => types.iter().map(escape_text).collect::<Vec<_>>().join(" or "),
        Value::String(one) if one == "array" => {
            format!("list of {}", render_schema(&schema["items"]))
        }
        Value::String(one) if one == "object" && schema["properties"]["data"].is_object() => {
            format!("page of {}", render_schema(&schema["properties"]["data"]["items"]))
        }
        other => escape_text(other),
    }
}

/// Text that means nothing to a browser; `code` in back quotes.
fn escape_text(value: &Value) -> String {
    let raw = value.as_str().unwrap_or_default();
    let safe = raw.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&#39;");
    let parts = safe.split('`').enumerate();
    parts
        .map(|(i, part)| if i % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
        .collect()
}

fn make_anchor(tag: &str) -> String {
    tag.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_operation_and_loads_nothing() {
        for path in openapi::build_document().paths.paths.keys() {
            assert!(PAGE.contains(path), "{path}");
        }
        for loading in
            ["<script", "<link", "<img", "src=", "url(", "@import", "http://", "https://"]
        {
            assert!(!PAGE.contains(loading), "{loading}");
        }
    }
}
