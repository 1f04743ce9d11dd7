//! Logos on the link pages: files of the operator, which become part of the pages.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use slackwater_integration::profile::VendorCode;

use crate::config::error::ConfigError;

/// Most bytes of a manufacturer's logo. A page may show sixty.
const VENDOR_LOGO_BYTES_MAX: usize = 8 * 1024;

/// Reads a logo, SVG or PNG, as a `data:` address.
///
/// # Errors
/// It cannot be read, is no picture, or has more than `bytes_max` bytes.
pub(super) fn read_logo(file: &Path, bytes_max: usize) -> Result<String, String> {
    let name = file.display();
    let bytes = fs::read(file).map_err(|reason| format!("cannot read {name}: {reason}"))?;
    let kind = image_type(&bytes).ok_or_else(|| format!("{name} is neither SVG nor PNG"))?;
    if bytes.len() > bytes_max {
        return Err(format!("{name}: {} bytes are too many; {bytes_max} are allowed", bytes.len()));
    }
    Ok(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
}

/// Media type of a picture, by its first bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some("image/png");
    }
    let text = std::str::from_utf8(bytes).ok()?;
    text.contains("<svg").then_some("image/svg+xml")
}

/// Logos of a folder by the code of their manufacturer, which is the name of the file without its
/// ending.
///
/// # Errors
/// The folder or a file cannot be read, or a file is not the logo of a manufacturer.
pub(super) fn read_vendor_logos(folder: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let refused = |reason: String| ConfigError::Settings(format!("link.vendor_logos: {reason}"));
    let unread = |reason| refused(format!("cannot read {}: {reason}", folder.display()));
    let mut logos = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let code = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let code = VendorCode::parse(code).map_err(|_| {
            let name = path.display();
            refused(format!("{name} is not named by the code of a manufacturer, as VOLTBOX.svg is"))
        })?;
        let logo = read_logo(&path, VENDOR_LOGO_BYTES_MAX).map_err(refused)?;
        if logos.insert(code.to_string(), logo).is_some() {
            return Err(refused(format!("{} has two logos of {code}", folder.display())));
        }
    }
    Ok(logos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";

    fn read(files: &[(&str, &str)]) -> Result<BTreeMap<String, String>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        read_vendor_logos(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn logos_are_named_by_the_code_of_their_manufacturer() {
        let logos = read(&[("VOLTBOX.svg", MARK), ("KESTREL.svg", MARK)]).unwrap();
        assert_eq!(logos.keys().collect::<Vec<_>>(), ["KESTREL", "VOLTBOX"]);
        assert!(logos["VOLTBOX"].starts_with("data:image/svg+xml;base64,"));
        assert!(read(&[]).unwrap().is_empty());
    }

    #[test]
    fn files_that_cannot_be_shown_are_refused_by_name() {
        let long = format!("{MARK}{}", " ".repeat(VENDOR_LOGO_BYTES_MAX));
        for (files, reason) in [
            (&[("read me.txt", MARK)][..], "read me.txt is not named by the code"),
            (&[("VOLTBOX.svg", "text")], "VOLTBOX.svg is neither SVG nor PNG"),
            (&[("VOLTBOX.svg", &long)], "bytes are too many; 8192 are allowed"),
            (&[("VOLTBOX.svg", MARK), ("VOLTBOX.png", MARK)], "has two logos of VOLTBOX"),
        ] {
            let error = read(files).unwrap_err();
            assert!(error.contains("link.vendor_logos: ") && error.contains(reason), "{error}");
        }
        let missing = read_vendor_logos(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(missing.contains("link.vendor_logos: cannot read /nowhere: "), "{missing}");
    }
}
