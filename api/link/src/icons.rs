//! Small pictures, drawn in the page. They say nothing that words do not.
use maud::{Markup, html};
use slackwater_control::device::scope::DeviceKind;

/// The picture of a kind of device.
#[must_use]
pub fn of(kind: DeviceKind) -> Markup {
    draw_icon(match kind {
        DeviceKind::Vehicle => {
            "M3 16v-3.2c0-.9.5-1.6 1.3-2l1.7-.8 1.8-3.3A2 2 0 0 1 9.6 5.6h5.2c.7 0 1.3.3 1.7.9l2.3 \
             3.5 1.4.5c.8.3 1.3 1 1.3 1.9V16h-2M3 16h2M9 16h6M6 10h13M7 18a2 2 0 1 0 0-4 2 2 0 0 \
             0 0 4ZM17 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z"
        }
        DeviceKind::Charger => {
            "M7 3.5h7A1.5 1.5 0 0 1 15.5 5v14.5h-10V5A1.5 1.5 0 0 1 7 3.5ZM4 19.5h13M11 \
             7.5 8.7 11.5h3.6L10 15.5M15.5 12h1.2c.7 0 1.3.6 1.3 1.3V16a1.4 \
             1.4 0 0 0 2.8 0V9.5L18.5 7"
        }
        DeviceKind::Hvac => {
            "M10 13.8V5.5a2 2 0 1 1 4 0v8.3a4 4 0 1 1-4 0ZM12 9v7.5M17.5 6h2M17.5 \
             9h2M17.5 12h2"
        }
        DeviceKind::Inverter => {
            "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 \
             12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 \
             6.7l1.4-1.4"
        }
        DeviceKind::Battery => {
            "M8 4.5h8A1.5 1.5 0 0 1 17.5 6v13a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 \
             0 1 6.5 19V6A1.5 1.5 0 0 1 8 4.5ZM10 4.5V3h4v1.5M12.8 8.5 10 \
             12.5h4l-2.8 4"
        }
        DeviceKind::Meter => {
            "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17ZM12 13l3.5-4M7 13.5a5 5 0 0 1 8.5-4.8M9.5 16.8h5"
        }
    })
}

/// The mark of the pages: water at its turn.
#[must_use]
pub fn mark() -> Markup {
    draw_icon(
        "M2.5 9c2.4 0 2.4 2 4.75 2S9.6 9 12 9s2.4 2 4.75 2S19.1 9 21.5 9M2.5 14.5c2.4 0 2.4 2 4.75 2s2.35-2 4.75-2 2.4 2 4.75 2 2.35-2 4.75-2",
    )
}

/// A tick in a ring.
#[must_use]
pub fn tick() -> Markup {
    draw_icon("M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17ZM8.3 12.2l2.6 2.6 4.9-5.4")
}

fn draw_icon(path: &str) -> Markup {
    html! {
        svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" {
            path d=(path) {}
        }
    }
}
