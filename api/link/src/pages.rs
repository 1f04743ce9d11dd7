//! The steps, as pages.
use maud::{Markup, html};
use slackwater_control::device::scope::DeviceKind;

use super::frame::Frame;
use super::icons;
use slackwater_integration::profile::{Health, Profile, VendorCode};
use slackwater_integration::vendor::{Login, Offer};
use slackwater_service::config::texts::fill;
use slackwater_service::linking::session::{Session, Step};
use slackwater_service::state::App;

/// Most brands that a page shows without a search.
const BRANDS_UNSEARCHED: usize = 8;

/// Place of a fault on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the name.
    UserName,
    /// In the password.
    Password,
    /// In name and password together.
    LogIn,
    /// In the code.
    Code,
    /// In the choice of devices.
    Devices,
    /// In nothing that was entered.
    Elsewhere,
}

/// Fault in words, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Where.
    pub place: Place,
    /// In words of the page's language.
    pub text: String,
}

/// A step of a session, for one browser.
#[derive(Debug)]
pub struct StepPage<'a> {
    /// The service.
    pub app: &'a App,
    /// The session.
    pub session: &'a Session,
    /// Frame of the page.
    pub frame: &'a Frame,
    /// Hidden word of its form.
    pub form_word: &'a str,
    /// Faults to show.
    pub notices: &'a [Notice],
    /// The name that was entered before.
    pub user_name: &'a str,
    /// Devices that were chosen before.
    pub chosen: &'a [String],
    /// Part of the name of a brand that is looked for.
    pub search: &'a str,
    /// True if the password can be read while it is entered.
    pub shows_password: bool,
}

impl StepPage<'_> {
    /// The page.
    #[must_use]
    pub fn of(&self, step: &Step) -> Markup {
        let texts = self.frame.texts();
        let profile = step.vendor().and_then(|code| self.app.vendor(code)).map(|v| v.profile());
        let portal = profile.as_ref().map_or("", |profile| &profile.portal_name);
        let vendor = profile.as_ref().map_or("", |profile| &profile.display_name);
        let (title, body) = match step {
            Step::Choose => self.choose(),
            Step::LogIn { vendor: code } | Step::Authorization { vendor: code, .. } => {
                let body = match self.app.vendor(code).and_then(|known| known.authorization()) {
                    Some(_) => self.continue_at(vendor),
                    None => self.log_in(code),
                };
                (fill(&texts.login_title, &[("portal", portal)]), body)
            }
            Step::Code { vendor: code, sent_to, .. } => {
                let gaps = [("vendor", vendor), ("place", sent_to)];
                (texts.code_title.clone(), self.code(code, &fill(&texts.code_lead, &gaps)))
            }
            Step::Consent { offers, .. } if offers.is_empty() => {
                (texts.none_title.clone(), self.none(portal))
            }
            Step::Consent { offers, .. } => {
                (texts.consent_title.clone(), self.consent(portal, offers))
            }
        };
        let content = html! {
            (self.progress(step))
            h1 { (title) }
            (body)
        };
        self.frame.page(&title, !self.notices.is_empty(), &content)
    }

    /// Progress bar.
    fn progress(&self, step: &Step) -> Markup {
        let chooses = self.session.request.vendor.is_none();
        let of = if chooses { 3 } else { 2 };
        let n = match step {
            Step::Choose => 1,
            Step::LogIn { .. } | Step::Authorization { .. } | Step::Code { .. } => of - 1,
            Step::Consent { .. } => of,
        };
        let gaps = [("n", n.to_string()), ("of", of.to_string())];
        let gaps = [("n", gaps[0].1.as_str()), ("of", gaps[1].1.as_str())];
        html! {
            p.step {
                span.dots aria-hidden="true" {
                    @for dot in 1..=of { i.on[dot <= n] {} }
                }
                (fill(&self.frame.texts().step, &gaps))
            }
        }
    }

    fn choose(&self) -> (String, Markup) {
        let texts = self.frame.texts();
        let vendors = self.session.vendors(self.app);
        if vendors.is_empty() {
            let lead = self.frame.about_app(&texts.nothing_lead);
            let body = html! {
                p.lead { (lead) }
                (self.form("choose", &html! { (leave(&texts.cancel)) }))
            };
            return (texts.nothing_title.clone(), body);
        }
        let now = self.app.now();
        let wanted = self.search.to_lowercase();
        let is_found = |profile: &Profile| profile.display_name.to_lowercase().contains(&wanted);
        let found: Vec<_> = vendors.iter().filter(|(profile, _)| is_found(profile)).collect();
        let fields = html! {
            ul.list aria-label=(texts.brands) {
                @for (profile, vendor) in &found {
                    li { (self.brand(profile, vendor.health(now).linking)) }
                }
            }
            (leave(&texts.cancel))
        };
        let body = html! {
            p.lead { (self.frame.about_app(&texts.choose_lead)) }
            (self.elsewhere())
            @if vendors.len() > BRANDS_UNSEARCHED { (self.search(found.is_empty())) }
            (self.form("choose", &fields))
        };
        (texts.choose_title.clone(), body)
    }

    /// Search among brands, as a form without a script.
    fn search(&self, is_empty: bool) -> Markup {
        let texts = self.frame.texts();
        html! {
            form.search method="get" action=(self.session.path()) role="search" {
                label for="q" { (texts.search_label) }
                div {
                    input id="q" name="q" type="search" value=(self.search) autocomplete="off"
                        autocapitalize="none" spellcheck="false";
                    button.button type="submit" { (texts.search) }
                }
                @if is_empty {
                    p role="status" { (fill(&texts.search_none, &[("name", self.search)])) }
                }
                @if !self.search.is_empty() { p { a href=(self.session.path()) { (texts.all_brands) } } }
            }
        }
    }

    /// A manufacturer, as a button: one press chooses it.
    fn brand(&self, profile: &Profile, health: Health) -> Markup {
        let texts = self.frame.texts();
        let wanted = |kind: &&DeviceKind| self.session.granted(**kind).is_some();
        let kinds: Vec<DeviceKind> = profile.kinds.iter().filter(wanted).copied().collect();
        let names: Vec<&str> = kinds.iter().map(|kind| texts.kind(*kind)).collect();
        html! {
            button.card.off[health == Health::Outage] type="submit" name="vendor" value=(profile.code) {
                @if let Some(logo) = self.app.config().link.logos.get(profile.code.as_str()) {
                    // The name beside it says the same.
                    img src=(logo) alt="";
                } @else if let Some(kind) = kinds.first() { (icons::of(*kind)) }
                span {
                    (profile.display_name)
                    small { (names.join(", ")) }
                    @if health == Health::Outage { small { (texts.not_now) } }
                }
            }
        }
    }

    fn log_in(&self, code: &VendorCode) -> Markup {
        let texts = self.frame.texts();
        let is_again = self.session.device.is_some();
        let lead = if is_again { &texts.relink_lead } else { &texts.login_lead };
        let both = self.notice(Place::LogIn);
        let (no_name, no_password) = (self.notice(Place::UserName), self.notice(Place::Password));
        // A password that was there when it was shown or hidden is entered anew.
        let is_anew = self.notices.is_empty() && !self.user_name.is_empty();
        let name = Input {
            id: "user_name",
            label: &texts.user_name,
            kind: "text",
            autocomplete: "username",
            value: self.user_name,
            notice: no_name,
            is_wrong: both.is_some(),
            has_focus: no_name.is_some(),
        };
        let password = Input {
            id: "password",
            label: &texts.password,
            kind: if self.shows_password { "text" } else { "password" },
            autocomplete: "current-password",
            value: "",
            notice: no_password,
            is_wrong: both.is_some(),
            has_focus: no_name.is_none() && (both.is_some() || no_password.is_some() || is_anew),
        };
        let fields = html! {
            (name.markup())
            (password.markup())
            div.buttons {
                button.button.main type="submit" { (texts.log_in) }
                p.hint { (texts.patience) }
                (self.password_switch())
                (self.other_brand())
                (leave(&texts.cancel))
            }
        };
        html! {
            p.lead { (self.frame.about_app(lead)) }
            (self.elsewhere())
            (self.before_log_in(code))
            @if let Some(notice) = both { p.notice #notice role="alert" { (notice.text) } }
            (self.form("login", &fields))
        }
    }

    /// The way to the manufacturer's own page. Fields and their faults are there.
    fn continue_at(&self, vendor: &str) -> Markup {
        let texts = self.frame.texts();
        let gaps = [("vendor", vendor)];
        let fields = html! {
            div.buttons {
                button.button.main type="submit" { (fill(&texts.continue_at, &gaps)) }
                (self.other_brand())
                (leave(&texts.cancel))
            }
        };
        html! {
            @if self.session.device.is_some() {
                p.lead { (self.frame.about_app(&texts.relink_lead)) }
            }
            p.lead { (self.frame.fill(&texts.redirect_lead, &gaps)) }
            (self.elsewhere())
            @if let Some(notice) = self.notice(Place::LogIn) {
                p.notice role="alert" { (notice.text) }
            }
            (self.form("login", &fields))
        }
    }

    /// Button that has the password shown or hidden while it is entered. It stands behind the one
    /// that logs in, which is that of the Enter key. No password is sent back.
    fn password_switch(&self) -> Markup {
        let texts = self.frame.texts();
        html! {
            @if self.shows_password {
                input type="hidden" name="shown" value="yes";
                button.button type="submit" name="do" value="hide" { (texts.hide_password) }
            } @else {
                button.button type="submit" name="do" value="show" { (texts.show_password) }
            }
        }
    }

    /// Button back to the brands, if the client named none.
    fn other_brand(&self) -> Markup {
        html! {
            @if self.session.request.vendor.is_none() {
                button.button type="submit" name="do" value="back" { (self.frame.texts().other_brand) }
            }
        }
    }

    /// Notices before a password is entered: that the manufacturer does not answer, and a log-in to
    /// try where it is simulated.
    fn before_log_in(&self, code: &VendorCode) -> Markup {
        let texts = self.frame.texts();
        let Some(vendor) = self.app.vendor(code) else { return html! {} };
        let is_out = vendor.health(self.app.now()).linking == Health::Outage;
        let trial = vendor.trial().filter(|_| self.frame.is_sandbox);
        html! {
            @if is_out && self.notices.is_empty() {
                p.notice role="status" {
                    (fill(&texts.outage, &[("vendor", &vendor.profile().display_name)]))
                }
            }
            @if let Some(Login { user_name, password, .. }) = &trial {
                p.sandbox {
                    (fill(&texts.trial_log_in, &[("name", user_name), ("password", password)]))
                }
            }
        }
    }

    fn code(&self, vendor: &VendorCode, lead: &str) -> Markup {
        let texts = self.frame.texts();
        let trial = self.app.vendor(vendor).filter(|_| self.frame.is_sandbox);
        let trial = trial.and_then(|vendor| vendor.trial()?.code);
        let code = Input {
            id: "code",
            label: &texts.code,
            kind: "text",
            autocomplete: "one-time-code",
            value: "",
            notice: self.notice(Place::Code),
            is_wrong: false,
            has_focus: self.notice(Place::Code).is_some(),
        };
        let fields = html! {
            (code.markup())
            div.buttons {
                button.button.main type="submit" { (texts.go_on) }
                p.hint { (texts.patience) }
                button.button type="submit" name="do" value="back" { (texts.log_in_again) }
                (leave(&texts.cancel))
            }
        };
        html! {
            p.lead { (lead) }
            (self.elsewhere())
            @if let Some(code) = &trial {
                p.sandbox { (fill(&texts.trial_code, &[("code", code)])) }
            }
            (self.form("code", &fields))
        }
    }

    fn none(&self, portal: &str) -> Markup {
        let texts = self.frame.texts();
        let fields = html! {
            div.buttons {
                button.button.main type="submit" name="do" value="back" { (texts.log_in_again) }
                (leave(&texts.cancel))
            }
        };
        html! {
            p.lead { (fill(&texts.none_lead, &[("portal", portal)])) }
            (self.form("consent", &fields))
        }
    }

    fn consent(&self, portal: &str, offers: &[Offer]) -> Markup {
        let texts = self.frame.texts();
        let notice = self.notice(Place::Devices);
        let described = notice.map(|_| "devices-wrong");
        let fields = html! {
            fieldset aria-describedby=[described] {
                legend { (fill(&texts.devices, &[("portal", portal)])) }
                @if let Some(notice) = notice {
                    p.wrong #devices-wrong role="alert" { (notice.text) }
                }
                ul.list {
                    @for (place, offer) in offers.iter().enumerate() {
                        li { (self.device(offer, offers.len() == 1, notice.is_some() && place == 0)) }
                    }
                }
            }
            (self.grants(offers))
            div.buttons {
                button.button.main type="submit" name="do" value="allow" { (texts.allow) }
                (leave(&texts.deny))
            }
        };
        html! {
            p.lead { (self.frame.about_app(&texts.consent_lead)) }
            (self.elsewhere())
            (self.form("consent", &fields))
        }
    }

    fn device(&self, offer: &Offer, is_only: bool, has_focus: bool) -> Markup {
        let is_chosen = is_only || self.chosen.contains(&offer.device);
        html! {
            label.card {
                input type="checkbox" name="device" value=(offer.device) checked[is_chosen]
                    autofocus[has_focus];
                span { (offer.name) small { (self.frame.texts().kind(offer.kind)) } }
                (icons::of(offer.kind))
            }
        }
    }

    /// The scopes in plain words, for the kinds of device that there are.
    fn grants(&self, offers: &[Offer]) -> Markup {
        let texts = self.frame.texts();
        let mut kinds: Vec<DeviceKind> = offers.iter().map(|offer| offer.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        html! {
            section.grants aria-labelledby="grants" {
                h2 #grants { (self.frame.about_app(&texts.permissions)) }
                @for kind in &kinds {
                    div {
                        @if kinds.len() > 1 { h3 { (texts.kind(*kind)) } }
                        ul {
                            @for permission in self.session.granted(*kind).into_iter().flatten() {
                                @if let Some(words) = texts.scope(*kind, *permission) {
                                    li { (icons::tick()) (words) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn notice(&self, place: Place) -> Option<&Notice> {
        self.notices.iter().find(|notice| notice.place == place)
    }

    /// Faults that belong to no field.
    fn elsewhere(&self) -> Markup {
        html! {
            @if let Some(notice) = self.notice(Place::Elsewhere) {
                p.notice role="alert" { (notice.text) }
            }
        }
    }

    /// The page's form. What it lacks is said by us, in the page's language.
    fn form(&self, step: &str, fields: &Markup) -> Markup {
        html! {
            form method="post" action=(self.session.path()) novalidate {
                input type="hidden" name="form" value=(self.form_word);
                input type="hidden" name="step" value=(step);
                (fields)
            }
        }
    }
}

/// Devices of an account that are connected now.
#[must_use]
pub fn list_connected(frame: &Frame, portal: &str, devices: &[Offer]) -> Markup {
    let texts = frame.texts();
    html! {
        section.grants aria-labelledby="connected" {
            h2 #connected { (fill(&texts.devices, &[("portal", portal)])) }
            ul {
                @for device in devices {
                    li { (icons::of(device.kind)) span { (device.name) " – " (texts.kind(device.kind)) } }
                }
            }
        }
    }
}

/// The button that ends the session without devices.
fn leave(words: &str) -> Markup {
    html! { button.button.bare type="submit" name="do" value="leave" { (words) } }
}

/// A field for text.
struct Input<'a> {
    id: &'static str,
    label: &'a str,
    kind: &'static str,
    autocomplete: &'static str,
    value: &'a str,
    notice: Option<&'a Notice>,
    /// True if the page shows a fault above the form.
    is_wrong: bool,
    has_focus: bool,
}

impl Input<'_> {
    fn markup(&self) -> Markup {
        let own = format!("{}-wrong", self.id);
        let described = match (self.notice, self.is_wrong) {
            (Some(_), _) => Some(own.as_str()),
            (None, true) => Some("notice"),
            (None, false) => None,
        };
        let invalid = described.map(|_| "true");
        let is_code = self.id == "code";
        html! {
            div.field {
                label for=(self.id) { (self.label) }
                @if let Some(notice) = self.notice {
                    p.wrong id=(own) { (notice.text) }
                }
                input id=(self.id) name=(self.id) type=(self.kind) value=(self.value) required
                    autocomplete=(self.autocomplete) autocapitalize="none" spellcheck="false"
                    inputmode=[is_code.then_some("numeric")]
                    aria-invalid=[invalid] aria-describedby=[described]
                    autofocus[self.has_focus];
            }
        }
    }
}
