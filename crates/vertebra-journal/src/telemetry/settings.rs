//! Whether anything is exported, what, and where to: the usual variables, or somebody's word.

use reqwest::Url;

/// Where a collector usually listens.
const USUAL: &str = "http://localhost:4318";

const TRACES: &str = "v1/traces";
const METRICS: &str = "v1/metrics";

/// What an address is called that no variable has.
const ASKED: &str = "the collector's address";

/// What is exported, and where to.
///
/// Headers, time limits, the resource and the sizes of queues are read from the usual variables of the process
/// (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_BSP_MAX_QUEUE_SIZE` …) by the OpenTelemetry SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where traces go, if they do: the whole address, as in `http://localhost:4318/v1/traces`.
    pub traces: Option<Url>,
    /// Where metrics go, if they do.
    pub metrics: Option<Url>,
    /// Whether prompts, arguments and outputs are exported too.
    pub contents: bool,
}

/// A setting that cannot be honoured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct SettingsError {
    /// Which one.
    pub name: String,
    /// Why, and what to write instead.
    pub problem: String,
}

impl Settings {
    /// Everything to the collector at this address.
    ///
    /// ```
    /// # use vertebra_journal::telemetry::Settings;
    /// let settings = Settings::to("http://localhost:4318")?;
    /// assert_eq!(settings.traces.unwrap().as_str(), "http://localhost:4318/v1/traces");
    /// # Ok::<(), vertebra_journal::telemetry::SettingsError>(())
    /// ```
    pub fn to(url: &str) -> Result<Self, SettingsError> {
        let to = |path: &str| address(ASKED, url, path).map(Some);
        Ok(Self { traces: to(TRACES)?, metrics: to(METRICS)?, contents: false })
    }

    /// What the usual variables say, or `None` if nothing is to be exported. Somebody who `asked` is heard before
    /// them: for a collector by its address, or for the usual one with an empty text.
    pub fn read(asked: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, SettingsError> {
        let variable =
            |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        if asked.is_none() && variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let signal = |signal: &str, path: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
            let (wanted, endpoint) = (exporter(signal, &variable)?, "OTEL_EXPORTER_OTLP_ENDPOINT");
            let (name, url, path) = match (asked, variable(&own), variable(endpoint)) {
                _ if wanted == Some(false) => return Ok(None),
                (Some(asked), ..) if !asked.is_empty() => (ASKED, asked.to_owned(), path),
                (_, Some(url), _) => (&*own, url, ""),
                (_, None, Some(url)) => (endpoint, url, path),
                (Some(_), ..) => (ASKED, USUAL.to_owned(), path),
                (None, None, None) if wanted == Some(true) => (endpoint, USUAL.to_owned(), path),
                (None, None, None) => return Ok(None),
            };
            understood(signal, &variable)?;
            address(name, &url, path).map(Some)
        };
        let (traces, metrics) = (signal("TRACES", TRACES)?, signal("METRICS", METRICS)?);
        let contents = variable("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
            .is_some_and(|value| matches!(&*value.to_ascii_lowercase(), "true" | "1" | "span_only" | "span_and_event"));
        Ok((traces.is_some() || metrics.is_some()).then_some(Self { traces, metrics, contents }))
    }
}

/// Whether a signal's exporter is named, and is ours.
fn exporter(signal: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<bool>, SettingsError> {
    let name = format!("OTEL_{signal}_EXPORTER");
    match variable(&name).as_deref() {
        None => Ok(None),
        Some("none") => Ok(Some(false)),
        Some("otlp") => Ok(Some(true)),
        Some(other) => Err(SettingsError { problem: format!("`{other}` is not there: write `otlp` or `none`"), name }),
    }
}

/// What would be ignored in silence is refused.
fn understood(signal: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<(), SettingsError> {
    let either = |what: &str| {
        let (own, all) = (format!("OTEL_EXPORTER_OTLP_{signal}_{what}"), format!("OTEL_EXPORTER_OTLP_{what}"));
        [own, all].into_iter().find_map(|name| Some((variable(&name)?, name)))
    };
    let wrong = |name: String, problem: String| Err(SettingsError { name, problem });
    match either("PROTOCOL") {
        Some((other, name)) if other != "http/protobuf" => {
            return wrong(name, format!("`{other}` is not spoken: write `http/protobuf`, whose port is usually 4318"));
        }
        _ => {}
    }
    match either("COMPRESSION") {
        Some((other, name)) if other != "none" => {
            return wrong(name, format!("`{other}` is not there: write `none`"));
        }
        _ => {}
    }
    for what in ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"] {
        if let Some((_, name)) = either(what) {
            return wrong(name, "is not read: add the collector's certificate to those of the machine".to_owned());
        }
    }
    Ok(())
}

fn address(name: &str, url: &str, path: &str) -> Result<Url, SettingsError> {
    let wrong = |problem: &str| SettingsError {
        name: name.to_owned(),
        problem: format!("invalid address `{}` ({problem}): write one such as {USUAL}", url.escape_debug()),
    };
    let mut url = Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("it does not begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SettingsError {
            name: name.to_owned(),
            problem: "has a password in it: write it as a header in OTEL_EXPORTER_OTLP_HEADERS".to_owned(),
        });
    }
    if !path.is_empty() {
        let joined = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&joined);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(asked: Option<&str>, variables: &[(&str, &str)]) -> String {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        match Settings::read(asked, variable) {
            Ok(None) => "off".to_owned(),
            Ok(Some(Settings { traces, metrics, contents })) => {
                let shown = |url: Option<Url>| url.map_or("-".to_owned(), String::from);
                format!("{} {}{}", shown(traces), shown(metrics), if contents { " with contents" } else { "" })
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn nothing_is_exported_unless_somebody_asks() {
        assert_eq!(read(None, &[]), "off");
        assert_eq!(read(None, &[("OTEL_SERVICE_NAME", "x"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b")]), "off");
        assert_eq!(read(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1"), ("OTEL_SDK_DISABLED", "true")]), "off");
        let none = [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")];
        assert_eq!(read(Some(""), &none), "off");
        assert_eq!(read(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), "off");
    }

    #[test]
    fn the_usual_variables_hold_and_a_word_is_stronger() {
        let usual = "http://localhost:4318/v1/traces http://localhost:4318/v1/metrics";
        assert_eq!(read(Some(""), &[]), usual);
        assert_eq!(read(None, &[("OTEL_TRACES_EXPORTER", "otlp")]), "http://localhost:4318/v1/traces -");
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c/base/");
        assert_eq!(read(None, &[endpoint]), "https://c/base/v1/traces https://c/base/v1/metrics");
        assert_eq!(read(Some(""), &[endpoint]), "https://c/base/v1/traces https://c/base/v1/metrics");
        assert_eq!(read(Some("http://d:1"), &[endpoint]), "http://d:1/v1/traces http://d:1/v1/metrics");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:2/in");
        assert_eq!(read(None, &[own]), "http://t:2/in -");
        assert_eq!(read(None, &[own, endpoint]), "http://t:2/in https://c/base/v1/metrics");
        assert_eq!(read(None, &[own, endpoint, ("OTEL_METRICS_EXPORTER", "none")]), "http://t:2/in -");
        let capture = ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
        assert_eq!(read(None, &[own, capture]), "http://t:2/in - with contents");
        assert_eq!(read(None, &[own, (capture.0, "NO_CONTENT")]), "http://t:2/in -");
    }

    #[test]
    fn what_cannot_be_honoured_is_said() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1");
        let check = |told: String, parts: &[&str]| {
            for part in parts {
                assert!(told.contains(part), "{told}: {part}");
            }
        };
        check(
            read(Some("localhost:4318"), &[]),
            &["the collector's address", "`localhost:4318`", "http://localhost:4318"],
        );
        check(read(Some("nonsense\u{1b}"), &[]), &["the collector's address", "nonsense\\u{1b}", "invalid address"]);
        check(read(Some("http://me:secret@c"), &[]), &["the collector's address", "OTEL_EXPORTER_OTLP_HEADERS"]);
        assert!(!read(Some("http://me:secret@c"), &[]).contains("secret"));
        check(read(None, &[(endpoint.0, "c:1")]), &["OTEL_EXPORTER_OTLP_ENDPOINT", "`c:1`"]);
        check(read(None, &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), &["PROTOCOL", "http/protobuf", "4318"]);
        check(read(None, &[endpoint, ("OTEL_EXPORTER_OTLP_CERTIFICATE", "x.pem")]), &["CERTIFICATE", "of the machine"]);
        check(read(None, &[endpoint, ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip")]), &["COMPRESSION", "`none`"]);
        check(read(None, &[endpoint, ("OTEL_TRACES_EXPORTER", "zipkin")]), &["OTEL_TRACES_EXPORTER", "`zipkin`"]);
    }
}
