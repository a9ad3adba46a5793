//! The name in a certificate. That it may be believed was found out when the connection began.

use x509_parser::{
    certificate::X509Certificate,
    extensions::GeneralName,
    prelude::{FromDer as _, ParsedExtension},
};

/// How long the name in a certificate may be.
const LONGEST_NAME: usize = 200;

/// The common name of the subject, or the first of its other names.
pub(super) fn name(der: &[u8]) -> Result<String, String> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| "the certificate cannot be read".to_owned())?;
    let common = certificate.subject().iter_common_name().find_map(|name| name.as_str().ok());
    let name = common.or_else(|| other_name(&certificate)).ok_or("the certificate names nobody")?;
    // It goes into records and onto screens.
    let plain =
        name.len() <= LONGEST_NAME && !name.trim().is_empty() && name.chars().all(|letter| !letter.is_control());
    if plain { Ok(name.to_owned()) } else { Err(format!("a name has 1 to {LONGEST_NAME} printable bytes")) }
}

fn other_name<'c>(certificate: &'c X509Certificate<'_>) -> Option<&'c str> {
    let names = certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    })?;
    names.iter().find_map(|name| match name {
        GeneralName::DNSName(name) | GeneralName::URI(name) | GeneralName::RFC822Name(name) => Some(*name),
        _ => None,
    })
}
