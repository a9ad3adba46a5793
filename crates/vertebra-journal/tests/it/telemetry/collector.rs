//! A real collector: OTLP over HTTP on this machine, which keeps what it is sent, or misbehaves.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value},
    metrics::v1::{Metric, metric::Data, number_data_point},
    trace::v1::Span,
};
use prost::Message as _;

/// What it does about a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Takes,
    Refuses,
    /// Holds its answers until it is [let go](Collector::let_go).
    Hesitates,
    NeverAnswers,
}

#[derive(Default)]
struct Heard {
    requests: usize,
    let_go: bool,
    spans: Vec<Span>,
    metrics: Vec<Metric>,
    resource: BTreeMap<String, String>,
}

/// A clone is the same collector.
#[derive(Clone)]
pub(crate) struct Collector {
    port: u16,
    heard: Arc<(Mutex<Heard>, Condvar)>,
}

impl Collector {
    pub(crate) fn that(manner: Manner) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let collector = Self { port, heard: Arc::default() };
        let hearing = collector.clone();
        thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let hearing = hearing.clone();
                thread::spawn(move || while hearing.serve(&stream, manner).is_some() {});
            }
        });
        collector
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// One request of a connection; `None` when there are no more.
    fn serve(&self, mut stream: &TcpStream, manner: Manner) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let (mut asked, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            asked.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut heard = self.heard();
        heard.requests += 1;
        if let Manner::Takes | Manner::Hesitates = manner {
            if asked.starts_with("POST /v1/traces ") {
                let request = ExportTraceServiceRequest::decode(&*body).expect("traces");
                for resource in request.resource_spans {
                    heard.resource = texts(&resource.resource.unwrap_or_default().attributes);
                    heard.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
                }
            } else {
                assert!(asked.starts_with("POST /v1/metrics "), "{asked}");
                let request = ExportMetricsServiceRequest::decode(&*body).expect("metrics");
                let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
                // They are cumulative: the last word counts.
                heard.metrics = scopes.flat_map(|scope| scope.metrics).collect();
            }
        }
        drop(heard);
        self.heard.1.notify_all();
        let status = match manner {
            Manner::Takes => "200 OK",
            Manner::Hesitates => {
                drop(self.wait_while(|heard| !heard.let_go));
                "200 OK"
            }
            Manner::Refuses => "500 Internal Server Error",
            Manner::NeverAnswers => loop {
                thread::park();
            },
        };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").ok()
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until somebody has asked something.
    pub(crate) fn wait_for_a_request(&self) {
        drop(self.wait_while(|heard| heard.requests == 0));
    }

    fn wait_while(&self, what: impl Fn(&Heard) -> bool) -> MutexGuard<'_, Heard> {
        self.heard.1.wait_while(self.heard(), |heard| what(heard)).unwrap_or_else(PoisonError::into_inner)
    }

    /// It answers all it was asked, and will be.
    pub(crate) fn let_go(&self) {
        self.heard().let_go = true;
        self.heard.1.notify_all();
    }

    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        self.heard().resource.clone()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.heard().spans.clone()
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        self.heard().metrics.clone()
    }
}

/// Attributes as text.
pub(crate) fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    attributes.iter().map(|attribute| (attribute.key.clone(), text(attribute.value.as_ref()))).collect()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        Some(any_value::Value::BoolValue(value)) => value.to_string(),
        Some(any_value::Value::IntValue(value)) => value.to_string(),
        Some(any_value::Value::DoubleValue(value)) => value.to_string(),
        Some(any_value::Value::ArrayValue(values)) => {
            values.values.iter().map(|value| text(Some(value))).collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}

/// One series of a metric: its attributes, its sum, and the borders of its buckets.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) about: BTreeMap<String, String>,
    pub(crate) sum: f64,
    pub(crate) borders: Vec<f64>,
}

pub(crate) fn series(metric: &Metric) -> Vec<Series> {
    match metric.data.as_ref().expect("data") {
        Data::Histogram(histogram) => {
            let points = histogram.data_points.iter();
            let series = points.map(|point| {
                let (about, borders) = (texts(&point.attributes), point.explicit_bounds.clone());
                Series { about, sum: point.sum(), borders }
            });
            series.collect()
        }
        Data::Sum(sum) => {
            let points = sum.data_points.iter();
            let series = points.map(|point| {
                let Some(number_data_point::Value::AsInt(count)) = point.value else { panic!("{point:?}") };
                let sum = u32::try_from(count).expect("a small number").into();
                Series { about: texts(&point.attributes), sum, borders: Vec::new() }
            });
            series.collect()
        }
        other => panic!("{}: {other:?}", metric.name),
    }
}
