//! Every word of the pages, in every language.
//!
//! `{app}` is the client, `{vendor}` a manufacturer, `{portal}` what its
//! customers log in to. Texts that name the client begin with it, because a
//! client without a name is "This app".
use slackwater_control::device::scope::{DeviceKind, Permission};

use slackwater_service::config::language::Language;

/// Makes the table, its languages as constants, and the list that tests walk.
macro_rules! texts {
    ($($name:ident: $en:literal, $de:literal, $nb:literal;)*) => {
        /// The texts of one language.
        #[derive(Debug)]
        #[expect(missing_docs, reason = "the name of a text says what it is")]
        pub struct Texts { $(pub $name: &'static str,)* }

        /// English.
        pub static EN: Texts = Texts { $($name: $en,)* };
        /// German.
        pub static DE: Texts = Texts { $($name: $de,)* };
        /// Norwegian.
        pub static NB: Texts = Texts { $($name: $nb,)* };

        /// The table, for tests.
        #[cfg(test)]
        const TABLE: &[(&str, [&str; 3])] = &[$((stringify!($name), [$en, $de, $nb]),)*];
    };
}

texts! {
    app: "This app", "Diese App", "Denne appen";
    step: "Step {n} of {of}", "Schritt {n} von {of}", "Steg {n} av {of}";
    error_prefix: "Error: ", "Fehler: ", "Feil: ";
    sandbox_note: "Sandbox: these devices are simulated. Never enter a real password here.",
        "Sandbox: Diese Geräte sind simuliert. Geben Sie hier nie ein echtes Passwort ein.",
        "Sandkasse: Disse enhetene er simulert. Skriv aldri inn et ekte passord her.";
    cancel: "Cancel", "Abbrechen", "Avbryt";
    try_again: "Try again", "Erneut versuchen", "Prøv igjen";

    choose_title: "Which brand is your device?", "Von welcher Marke ist Ihr Gerät?",
        "Hvilket merke er enheten din?";
    choose_lead: "{app} would like to connect to your devices. You decide which, and you can still say no.",
        "{app} möchte sich mit Ihren Geräten verbinden. Sie entscheiden, mit welchen, und können noch ablehnen.",
        "{app} vil koble seg til enhetene dine. Du bestemmer hvilke, og kan fortsatt si nei.";
    brands: "Brands", "Marken", "Merker";
    search_label: "Search for a brand", "Marke suchen", "Søk etter et merke";
    search: "Search", "Suchen", "Søk";
    search_none: "No brand here has “{name}” in its name.", "Keine Marke hier hat „{name}“ im Namen.",
        "Ingen merker her har «{name}» i navnet.";
    all_brands: "Show all brands", "Alle Marken zeigen", "Vis alle merker";
    support: "Help", "Hilfe", "Hjelp";
    privacy: "Privacy", "Datenschutz", "Personvern";
    imprint: "Imprint", "Impressum", "Om oss";
    trial_log_in: "Simulated account: user name {name}, password {password}",
        "Simuliertes Konto: Benutzername {name}, Passwort {password}",
        "Simulert konto: brukernavn {name}, passord {password}";
    trial_code: "Simulated account: the code is {code}", "Simuliertes Konto: Der Code ist {code}",
        "Simulert konto: koden er {code}";
    not_now: "Not available at the moment", "Zurzeit nicht verfügbar", "Ikke tilgjengelig nå";
    nothing_title: "There is nothing to connect", "Es gibt nichts zu verbinden",
        "Det er ingenting å koble til";
    nothing_lead: "{app} asked for devices of a kind that no brand here offers.",
        "{app} hat nach einer Art von Geräten gefragt, die hier keine Marke anbietet.",
        "{app} spurte etter en type enhet som ingen merker her tilbyr.";

    login_title: "Log in to {portal}", "Bei {portal} anmelden", "Logg inn på {portal}";
    login_lead: "{app} does not get to see your password.", "{app} bekommt Ihr Passwort nicht zu sehen.",
        "{app} får ikke se passordet ditt.";
    relink_lead: "{app} needs you to log in again, so that it can go on using your device.",
        "{app} braucht eine neue Anmeldung, um Ihr Gerät weiter nutzen zu können.",
        "{app} trenger at du logger inn på nytt for å fortsette å bruke enheten din.";
    user_name: "Email or user name", "E-Mail oder Benutzername", "E-post eller brukernavn";
    password: "Password", "Passwort", "Passord";
    log_in: "Log in", "Anmelden", "Logg inn";
    patience: "This takes a few seconds, rarely up to half a minute.",
        "Das dauert ein paar Sekunden, selten bis zu einer halben Minute.",
        "Dette tar noen sekunder, sjelden opptil et halvt minutt.";
    other_brand: "Choose another brand", "Andere Marke wählen", "Velg et annet merke";

    code_title: "Enter your code", "Code eingeben", "Skriv inn koden";
    code_lead: "{vendor} sent a code to {place}.", "{vendor} hat einen Code gesendet an: {place}.",
        "{vendor} sendte en kode til {place}.";
    code: "Code", "Code", "Kode";
    go_on: "Continue", "Weiter", "Fortsett";
    log_in_again: "Log in again", "Neu anmelden", "Logg inn på nytt";

    consent_title: "Choose your devices", "Wählen Sie Ihre Geräte", "Velg enhetene dine";
    consent_lead: "{app} gets access to what you choose, and to nothing else.",
        "{app} bekommt Zugriff auf das, was Sie wählen, und auf nichts anderes.",
        "{app} får tilgang til det du velger, og til ingenting annet.";
    devices: "Devices in {portal}", "Geräte in {portal}", "Enheter i {portal}";
    permissions: "{app} will be able to", "{app} darf dann", "{app} vil kunne";
    allow: "Allow access", "Zugriff erlauben", "Gi tilgang";
    deny: "Don’t allow", "Nicht erlauben", "Ikke gi tilgang";
    none_title: "No device fits", "Kein Gerät passt", "Ingen enhet passer";
    none_lead: "This {portal} account has no device of the kind that is asked for.",
        "Dieses Konto bei {portal} hat kein Gerät der gesuchten Art.",
        "Denne {portal}-kontoen har ingen enhet av typen det spørres etter.";

    vehicle: "Vehicle", "Fahrzeug", "Bil";
    charger: "Charger", "Wallbox", "Lader";
    hvac: "Heating and cooling", "Heizung und Klima", "Varme og kjøling";
    inverter: "Solar inverter", "Solar-Wechselrichter", "Solcelleomformer";
    battery: "Home battery", "Heimspeicher", "Hjemmebatteri";
    meter: "Electricity meter", "Stromzähler", "Strømmåler";

    vehicle_data: "see how full the battery is, whether it charges, and the mileage",
        "sehen, wie voll die Batterie ist, ob sie lädt, und den Kilometerstand",
        "se hvor fullt batteriet er, om det lader, og kilometerstanden";
    vehicle_location: "see where the vehicle is", "sehen, wo das Fahrzeug ist", "se hvor bilen er";
    vehicle_charging: "start, stop and plan charging", "das Laden starten, stoppen und planen",
        "starte, stoppe og planlegge ladingen";
    charger_data: "see whether the charger is in use, and its power",
        "sehen, ob die Wallbox genutzt wird, und ihre Leistung",
        "se om laderen er i bruk, og effekten";
    charger_charging: "start, stop and plan charging, and limit its power",
        "das Laden starten, stoppen und planen und die Leistung begrenzen",
        "starte, stoppe og planlegge ladingen, og begrense effekten";
    hvac_data: "see temperatures, and what the unit is set to",
        "Temperaturen und Einstellungen sehen", "se temperaturer og innstillinger";
    hvac_mode: "set the temperature, and hand back to the unit’s own schedule",
        "die Temperatur einstellen und zum eigenen Zeitplan des Geräts zurückkehren",
        "stille inn temperaturen og gå tilbake til enhetens egen tidsplan";
    inverter_data: "see how much solar power you produce", "sehen, wie viel Solarstrom Sie erzeugen",
        "se hvor mye solstrøm du produserer";
    inverter_location: "see where the solar panels are", "sehen, wo die Solaranlage ist",
        "se hvor solcelleanlegget er";
    inverter_power: "limit how much solar power is fed in", "begrenzen, wie viel Solarstrom eingespeist wird",
        "begrense hvor mye solstrøm som mates inn";
    battery_data: "see how full the battery is, and what it does",
        "sehen, wie voll der Speicher ist und was er tut", "se hvor fullt batteriet er og hva det gjør";
    battery_location: "see where the battery is", "sehen, wo der Speicher steht", "se hvor batteriet er";
    battery_mode: "choose how the battery is used", "wählen, wie der Speicher genutzt wird",
        "velge hvordan batteriet brukes";
    meter_data: "see how much electricity you use", "sehen, wie viel Strom Sie verbrauchen",
        "se hvor mye strøm du bruker";
    meter_location: "see where the meter is", "sehen, wo der Zähler ist", "se hvor måleren er";

    no_user_name: "Enter your email or user name.", "Geben Sie E-Mail oder Benutzernamen ein.",
        "Skriv inn e-post eller brukernavn.";
    no_password: "Enter your password.", "Geben Sie Ihr Passwort ein.", "Skriv inn passordet ditt.";
    no_code: "Enter the code.", "Geben Sie den Code ein.", "Skriv inn koden.";
    no_device: "Choose at least one device.", "Wählen Sie mindestens ein Gerät.", "Velg minst én enhet.";
    wrong_login: "{vendor} does not know this name and password. Check both and try again.",
        "{vendor} kennt diesen Namen mit diesem Passwort nicht. Prüfen Sie beides und versuchen Sie es erneut.",
        "{vendor} kjenner ikke dette navnet og passordet. Sjekk begge og prøv igjen.";
    wrong_code: "This is not the code that was sent. Check it and try again.",
        "Das ist nicht der gesendete Code. Prüfen Sie ihn und versuchen Sie es erneut.",
        "Dette er ikke koden som ble sendt. Sjekk den og prøv igjen.";
    codes_spent: "The code was wrong too often. Log in again to get a new one.",
        "Der Code war zu oft falsch. Melden Sie sich neu an, um einen neuen zu bekommen.",
        "Koden var feil for mange ganger. Logg inn på nytt for å få en ny.";
    slow: "{vendor} did not answer in time. Nothing is lost: try again.",
        "{vendor} hat nicht rechtzeitig geantwortet. Es ist nichts verloren: Versuchen Sie es erneut.",
        "{vendor} svarte ikke i tide. Ingenting er tapt: prøv igjen.";
    outage: "{vendor} is not available at the moment. Try again in a few minutes.",
        "{vendor} ist zurzeit nicht verfügbar. Versuchen Sie es in ein paar Minuten erneut.",
        "{vendor} er ikke tilgjengelig nå. Prøv igjen om noen minutter.";
    busy: "{vendor} asks for a break after many attempts. Try again in a few minutes.",
        "{vendor} bittet nach vielen Versuchen um eine Pause. Versuchen Sie es in ein paar Minuten erneut.",
        "{vendor} ber om en pause etter mange forsøk. Prøv igjen om noen minutter.";
    refused: "{vendor} says: {detail}", "{vendor} sagt: {detail}", "{vendor} sier: {detail}";
    other_account: "This account does not have the device that is to be connected again. Log in to the one that has it.",
        "Dieses Konto hat das Gerät nicht, das neu verbunden werden soll. Melden Sie sich bei dem an, zu dem es gehört.",
        "Denne kontoen har ikke enheten som skal kobles til på nytt. Logg inn på den som har den.";
    limit: "{app} cannot connect any more accounts at the moment. Nothing was shared.",
        "{app} kann zurzeit keine weiteren Konten verbinden. Es wurde nichts geteilt.",
        "{app} kan ikke koble til flere kontoer nå. Ingenting ble delt.";
    ours: "Something went wrong on our side. Nothing was shared: try again.",
        "Bei uns ist etwas schiefgegangen. Es wurde nichts geteilt: Versuchen Sie es erneut.",
        "Noe gikk galt hos oss. Ingenting ble delt: prøv igjen.";
    foreign_form: "This page was also open elsewhere, or your browser keeps no cookies. Go on from here.",
        "Diese Seite war auch anderswo offen, oder Ihr Browser speichert keine Cookies. Fahren Sie hier fort.",
        "Denne siden var også åpen et annet sted, eller nettleseren lagrer ikke informasjonskapsler. Fortsett herfra.";

    done_title: "Connected", "Verbunden", "Koblet til";
    done_lead: "{app} can use your devices now. You can close this window.",
        "{app} kann Ihre Geräte jetzt nutzen. Sie können dieses Fenster schließen.",
        "{app} kan bruke enhetene dine nå. Du kan lukke dette vinduet.";
    left_title: "Not connected", "Nicht verbunden", "Ikke koblet til";
    left_lead: "Nothing was shared. You can close this window.",
        "Es wurde nichts geteilt. Sie können dieses Fenster schließen.",
        "Ingenting ble delt. Du kan lukke dette vinduet.";
    spent_lead: "There were too many attempts, so this link no longer works. Start again in the app.",
        "Das waren zu viele Versuche, deshalb gilt dieser Link nicht mehr. Beginnen Sie in der App neu.",
        "Det ble for mange forsøk, så denne lenken virker ikke lenger. Begynn på nytt i appen.";
    expired_title: "This link has expired", "Dieser Link ist abgelaufen", "Denne lenken er utløpt";
    expired_lead: "A link is good for 24 hours. Go back to the app and start again there.",
        "Ein Link gilt 24 Stunden. Gehen Sie zurück in die App und beginnen Sie dort neu.",
        "En lenke varer i 24 timer. Gå tilbake til appen og begynn på nytt der.";
    used_title: "This link has been used", "Dieser Link wurde schon benutzt",
        "Denne lenken er allerede brukt";
    used_lead: "Each link works once. To connect more devices, start again in the app.",
        "Jeder Link funktioniert einmal. Um weitere Geräte zu verbinden, beginnen Sie in der App neu.",
        "Hver lenke virker én gang. Begynn på nytt i appen for å koble til flere enheter.";
    unknown_title: "This link does not work", "Dieser Link funktioniert nicht",
        "Denne lenken virker ikke";
    unknown_lead: "Check that the address is complete, or start again in the app.",
        "Prüfen Sie, ob die Adresse vollständig ist, oder beginnen Sie in der App neu.",
        "Sjekk at adressen er fullstendig, eller begynn på nytt i appen.";
    back_to: "Back to the app", "Zurück zur App", "Tilbake til appen";
}

/// Texts in a language.
#[must_use]
pub const fn texts_in(language: Language) -> &'static Texts {
    match language {
        Language::En => &EN,
        Language::De => &DE,
        Language::Nb => &NB,
    }
}

impl Texts {
    /// Name of a kind of device.
    #[must_use]
    pub const fn kind(&self, kind: DeviceKind) -> &'static str {
        match kind {
            DeviceKind::Battery => self.battery,
            DeviceKind::Charger => self.charger,
            DeviceKind::Hvac => self.hvac,
            DeviceKind::Inverter => self.inverter,
            DeviceKind::Meter => self.meter,
            DeviceKind::Vehicle => self.vehicle,
        }
    }

    /// Meaning of a scope for the owner of the device; empty for pairs that are no scope.
    #[must_use]
    pub const fn scope(&self, kind: DeviceKind, permission: Permission) -> Option<&'static str> {
        use DeviceKind::{Battery, Charger, Hvac, Inverter, Meter, Vehicle};
        use Permission::{
            ControlCharging, ControlMode, ControlOperationMode, ControlPowerLimit, ReadData,
            ReadLocation,
        };
        Some(match (kind, permission) {
            (Vehicle, ReadData) => self.vehicle_data,
            (Vehicle, ReadLocation) => self.vehicle_location,
            (Vehicle, ControlCharging) => self.vehicle_charging,
            (Charger, ReadData) => self.charger_data,
            (Charger, ControlCharging) => self.charger_charging,
            (Hvac, ReadData) => self.hvac_data,
            (Hvac, ControlMode) => self.hvac_mode,
            (Inverter, ReadData) => self.inverter_data,
            (Inverter, ReadLocation) => self.inverter_location,
            (Inverter, ControlPowerLimit) => self.inverter_power,
            (Battery, ReadData) => self.battery_data,
            (Battery, ReadLocation) => self.battery_location,
            (Battery, ControlOperationMode) => self.battery_mode,
            (Meter, ReadData) => self.meter_data,
            (Meter, ReadLocation) => self.meter_location,
            _ => return None,
        })
    }
}

/// A text with its gaps filled.
#[must_use]
pub fn fill(text: &str, gaps: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = gaps.iter().find(|(gap, _)| *gap == name);
        filled.push_str(value.map_or("", |(_, value)| value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn gaps(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|part| part.split('}').next()).collect()
    }

    #[test]
    fn every_text_is_there_in_every_language() {
        for (name, [en, others @ ..]) in TABLE {
            let own = gaps(en);
            for gap in &own {
                let known = [
                    "app", "vendor", "portal", "place", "n", "of", "detail", "name", "password",
                    "code",
                ]
                .contains(gap);
                assert!(known, "{name}: {{{gap}}}");
            }
            for other in others {
                assert!(!other.trim().is_empty(), "{name}");
                assert_eq!(gaps(other), own, "{name}: {other}");
                // A sentence in one language is a sentence in all.
                assert_eq!(en.ends_with('.'), other.ends_with('.'), "{name}: {other}");
            }
            assert!(!en.trim().is_empty(), "{name}");
        }
    }

    #[test]
    fn every_scope_has_words_for_its_owner() {
        for texts in [&EN, &DE, &NB] {
            for kind in DeviceKind::ALL {
                assert!(!texts.kind(kind).is_empty());
                for permission in Permission::ALL {
                    let exists = kind.permissions().contains(&permission);
                    assert_eq!(texts.scope(kind, permission).is_some(), exists, "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn gaps_are_filled_once() {
        let text = fill("{app} and {vendor}, {app}.", &[("app", "{vendor}"), ("vendor", "B")]);
        assert_eq!(text, "{vendor} and B, {vendor}.");
        assert_eq!(fill("{other} {", &[]), " ");
    }
}
