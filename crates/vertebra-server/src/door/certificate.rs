//! Reads the name of a client from its certificate. rustls has verified the certificate before.

use x509_cert::{
    Certificate, TbsCertificate,
    der::{
        Class, Decode as _, Tag, Tagged as _,
        asn1::AnyRef,
        oid::db::{rfc4519::COMMON_NAME, rfc5280::ID_CE_SUBJECT_ALT_NAME},
    },
};

/// The longest name that is accepted, in bytes.
const LONGEST_NAME: usize = 200;

/// Why a certificate is refused that has neither a common name nor an alternative name that is text.
const NO_NAME: &str = "the certificate has no usable name; give it a common name, DNS name, URI or email address";

/// Returns the common name of the subject or, without one, the first alternative name that is text.
pub(super) fn name(der: &[u8]) -> Result<String, String> {
    let certificate = Certificate::from_der(der).map_err(|_| "the certificate cannot be read")?;
    let contents = certificate.tbs_certificate();
    let name = match common_name(contents)? {
        Some(name) => name,
        None => alternative_name(contents).ok_or(NO_NAME)?,
    };
    // The name is written to records and terminals.
    let plain =
        name.len() <= LONGEST_NAME && !name.trim().is_empty() && name.chars().all(|letter| !letter.is_control());
    if plain {
        Ok(name.to_owned())
    } else {
        Err(format!("the name in the certificate must have 1 to {LONGEST_NAME} printable bytes"))
    }
}

fn common_name(contents: &TbsCertificate) -> Result<Option<&str>, &'static str> {
    let mut first = None;
    for set in contents.subject().iter_rdn() {
        let mut names = set.iter().filter(|attribute| attribute.oid == COMMON_NAME);
        let name = names.next().and_then(|attribute| {
            let is_text = matches!(
                attribute.value.tag(),
                Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString
            );
            std::str::from_utf8(attribute.value.value()).ok().filter(|_| is_text)
        });
        // A set has no order, so none of its names is the first.
        if names.next().is_some() {
            return Err("the certificate has several common names in one set");
        }
        first = first.or(name);
    }
    Ok(first)
}

/// Returns the first DNS name, URI or email address.
fn alternative_name(contents: &TbsCertificate) -> Option<&str> {
    let extensions = contents.extensions()?.iter();
    let names = extensions.filter(|extension| extension.extn_id == ID_CE_SUBJECT_ALT_NAME);
    // `GeneralNames` of x509-cert would discard all names if it cannot read one of them.
    let mut names = names.filter_map(|extension| Vec::<AnyRef<'_>>::from_der(extension.extn_value.as_bytes()).ok());
    let names = names.find(|names| names.iter().all(|name| name.tag().class() == Class::ContextSpecific))?;
    // An email address, a DNS name, a URI.
    let is_text = |name: &AnyRef<'_>| matches!(name.tag().number().value(), 1 | 2 | 6);
    names.into_iter().filter(is_text).find_map(|name| std::str::from_utf8(name.value()).ok())
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue, KeyPair, SanType,
        string::{BmpString, Ia5String, PrintableString, TeletexString},
    };

    use super::*;

    /// A self-signed certificate with these names. rcgen puts each attribute into its own set.
    fn certificate(subject: Vec<(DnType, DnValue)>, others: Vec<SanType>) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in subject {
            params.distinguished_name.push(kind, value);
        }
        params.subject_alt_names = others;
        self_signed(&params)
    }

    fn self_signed(params: &CertificateParams) -> Vec<u8> {
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    fn common(value: impl Into<DnValue>) -> (DnType, DnValue) {
        (DnType::CommonName, value.into())
    }

    fn text(text: &str) -> Ia5String {
        text.try_into().expect("ASCII")
    }

    fn dns(name: &str) -> SanType {
        SanType::DnsName(text(name))
    }

    /// A certificate without a common name, whose extension for other names has this content.
    fn with_raw_names(content: Vec<u8>) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.custom_extensions = vec![CustomExtension::from_oid_content(&[2, 5, 29, 17], content)];
        self_signed(&params)
    }

    /// A tag and its content.
    type Value<'a> = (u8, &'a [u8]);

    /// Encodes a sequence of these values.
    fn sequence(values: &[Value<'_>]) -> Vec<u8> {
        let encoded = |(tag, value): &Value<'_>| {
            let length = u8::try_from(value.len()).expect("a short value");
            [&[*tag, length], *value].concat()
        };
        let content: Vec<u8> = values.iter().flat_map(encoded).collect();
        encoded(&(0x30, &content))
    }

    #[test]
    fn the_common_name_comes_before_all_other_names() {
        let organization = (DnType::OrganizationName, "Example".into());
        let der = certificate(vec![organization, common("build 7")], vec![dns("b7.example")]);
        assert_eq!(name(&der).as_deref(), Ok("build 7"));
    }

    #[test]
    fn a_common_name_is_read_in_every_encoding_that_is_plain_text() {
        let printable = PrintableString::try_from("build 7").expect("printable");
        let encodings = [
            DnValue::Utf8String("build 7".to_owned()),
            DnValue::PrintableString(printable),
            DnValue::Ia5String(text("build 7")),
        ];
        for value in encodings {
            let der = certificate(vec![common(value.clone())], vec![]);
            assert_eq!(name(&der).as_deref(), Ok("build 7"), "{value:?}");
        }
        let der = certificate(vec![common("Bücherei 7 \u{1f4da}")], vec![]);
        assert_eq!(name(&der).as_deref(), Ok("Bücherei 7 \u{1f4da}"));
    }

    #[test]
    fn a_common_name_in_an_old_encoding_is_skipped() {
        let old = [
            DnValue::BmpString(BmpString::try_from("build 7").expect("UCS-2")),
            DnValue::TeletexString(TeletexString::try_from("build 7").expect("T.61")),
        ];
        for value in old {
            let der = certificate(vec![common(value.clone())], vec![dns("b7.example")]);
            assert_eq!(name(&der).as_deref(), Ok("b7.example"), "{value:?}");
            let der = certificate(vec![common(value.clone())], vec![]);
            assert_eq!(name(&der), Err(NO_NAME.to_owned()), "{value:?}");
        }
    }

    #[test]
    fn a_name_that_would_not_be_plain_in_a_record_is_refused() {
        let refused = Err("the name in the certificate must have 1 to 200 printable bytes".to_owned());
        let long = "a".repeat(201);
        for bad in ["", " ", "ops\0.example", "ops\n", "\u{1b}[31mops", &long] {
            // The next name is not used instead.
            let der = certificate(vec![common(bad)], vec![dns("b7.example")]);
            assert_eq!(name(&der), refused, "{bad:?} as common name");
            if bad.len() < 100 {
                let der = with_raw_names(sequence(&[(0x82, bad.as_bytes()), (0x82, b"b7.example")]));
                assert_eq!(name(&der), refused, "{bad:?} as DNS name");
            }
        }
        let der = certificate(vec![common("a".repeat(200))], vec![]);
        assert_eq!(name(&der), Ok("a".repeat(200)));
    }

    #[test]
    fn without_a_common_name_the_first_dns_name_address_or_uri_counts() {
        let email = || SanType::Rfc822Name(text("ops@example.org"));
        let uri = || SanType::URI(text("spiffe://example.org/build"));
        let address = || SanType::IpAddress([127, 0, 0, 1].into());
        let cases = [
            (vec![dns("a.example"), dns("b.example")], Ok("a.example")),
            (vec![dns("b.example"), dns("a.example")], Ok("b.example")),
            (vec![uri(), dns("a.example")], Ok("spiffe://example.org/build")),
            (vec![email(), uri()], Ok("ops@example.org")),
            (vec![address(), dns("a.example")], Ok("a.example")),
            (vec![address()], Err(NO_NAME)),
            (vec![], Err(NO_NAME)),
        ];
        for (others, expected) in cases {
            let der = certificate(vec![], others.clone());
            assert_eq!(name(&der).as_deref().map_err(String::as_str), expected, "{others:?}");
        }
        let organization = (DnType::OrganizationName, "Example".into());
        let der = certificate(vec![organization], vec![dns("a.example")]);
        assert_eq!(name(&der).as_deref(), Ok("a.example"));
    }

    #[test]
    fn other_names_that_are_not_text_are_skipped() {
        let a: Value<'_> = (0x82, b"a.example");
        let cases: [(&[Value<'_>], Result<&str, &str>); 6] = [
            (&[(0x82, "bücher.example".as_bytes()), a], Ok("bücher.example")),
            (&[(0x82, b"\xff\xfe"), a], Ok("a.example")),
            // An X.400 address, a malformed directory name, a registered identifier.
            (&[(0xa3, &[]), a], Ok("a.example")),
            (&[(0xa4, &[1]), a], Ok("a.example")),
            (&[(0x88, &[0x2a, 3]), a], Ok("a.example")),
            (&[], Err(NO_NAME)),
        ];
        for (names, expected) in cases {
            let der = with_raw_names(sequence(names));
            assert_eq!(name(&der).as_deref().map_err(String::as_str), expected, "{names:?}");
        }
        for content in [vec![], b"\x30\x05\x82".to_vec(), b"a.example".to_vec(), sequence(&[(0x0c, b"a.example")])] {
            let der = with_raw_names(content.clone());
            assert_eq!(name(&der), Err(NO_NAME.to_owned()), "{content:?}");
        }
    }

    /// The object identifier of common names. rcgen accepts one value per type, and treats this as another type.
    const COMMON_NAME_AGAIN: [u64; 4] = [2, 5, 4, 3];

    #[test]
    fn of_several_common_names_the_first_counts() {
        for (first, second) in [("a", "b"), ("b", "a")] {
            let again = DnType::CustomDnType(COMMON_NAME_AGAIN.to_vec());
            let der = certificate(vec![common(first), (again, second.into())], vec![]);
            assert_eq!(name(&der).as_deref(), Ok(first));
        }
    }

    #[test]
    fn several_common_names_in_one_set_are_refused() {
        let again = DnType::CustomDnType(COMMON_NAME_AGAIN.to_vec());
        let der = certificate(vec![common("x"), (again, "y".into())], vec![]);
        let attribute = |name: &str| sequence(&[(0x06, &[0x55, 4, 3]), (0x0c, name.as_bytes())]);
        let set = |content: &[u8]| [&[0x31, u8::try_from(content.len()).expect("a short set")], content].concat();
        let two_sets = [set(&attribute("x")), set(&attribute("y"))].concat();
        for (first, second) in [("aaa", "b"), ("b", "aaa")] {
            let one_set = set(&[attribute(first), attribute(second)].concat());
            let der = replaced(&der, &two_sets, &one_set);
            assert_eq!(name(&der), Err("the certificate has several common names in one set".to_owned()));
        }
    }

    /// Replaces every occurrence of some bytes with as many others. The signature is not checked here.
    fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        assert_eq!(from.len(), to.len());
        let mut bytes = bytes.to_vec();
        let found: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
        assert!(!found.is_empty());
        for at in found {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
        bytes
    }

    #[test]
    fn what_is_not_a_certificate_is_refused() {
        let der = certificate(vec![common("build 7")], vec![]);
        let refused = Err("the certificate cannot be read".to_owned());
        for end in 0..der.len() {
            assert_eq!(name(&der[..end]), refused, "cut off after {end} bytes");
        }
    }
}
