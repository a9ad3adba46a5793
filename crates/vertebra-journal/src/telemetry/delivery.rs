//! The way to a collector: in threads of their own, with bounded queues. What does not arrive is counted.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use opentelemetry::{Context, Key};
use opentelemetry_http::HttpClient;
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    metrics::{PeriodicReader, SdkMeterProvider, Temporality, data::ResourceMetrics, exporter::PushMetricExporter},
    trace::{BatchSpanProcessor, Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor},
};
use reqwest::{Url, blocking::Client, redirect::Policy};

use super::{Settings, span::Ids};

const TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Telemetry that could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no telemetry: {0}")]
pub struct StartError(String);

/// What became of all that was to be exported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Spans that a collector has taken.
    pub spans: u64,
    /// Spans that none has: the queue was full, it was not there, it refused them, or it did not answer in time.
    pub lost: u64,
    /// Why something was lost: what was said last about it.
    pub problem: Option<String>,
}

impl fmt::Display for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} spans did not reach the collector", self.lost, self.spans + self.lost)?;
        match &self.problem {
            Some(problem) => write!(f, ": {problem}"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    ended: AtomicU64,
    delivered: AtomicU64,
    problem: Mutex<Option<String>>,
}

impl Tally {
    pub(super) fn so_far(&self) -> Delivered {
        let spans = self.delivered.load(Ordering::Acquire);
        let lost = self.ended.load(Ordering::Acquire).saturating_sub(spans);
        Delivered { spans, lost, problem: self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone() }
    }

    fn heard(&self, result: &OTelSdkResult) {
        if let Err(error) = result {
            let said = match error {
                OTelSdkError::InternalFailure(message) => message.clone(),
                other => other.to_string(),
            };
            *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        }
    }
}

/// The ways of spans and of metrics.
pub(super) struct Ways {
    pub(super) traces: SdkTracerProvider,
    pub(super) metrics: SdkMeterProvider,
    pub(super) tally: Arc<Tally>,
    closed: AtomicBool,
}

impl Ways {
    pub(super) fn open(settings: &Settings) -> Result<Self, StartError> {
        let tally = Arc::<Tally>::default();
        let resource = resource();
        let mut traces = SdkTracerProvider::builder().with_resource(resource.clone()).with_id_generator(Ids::default());
        match &settings.traces {
            Some(url) => {
                let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
                let client = client(url, timeout("TRACES"))?;
                let exporter = exporter.with_endpoint(url.as_str()).with_shared_http_client(client);
                let exporter = exporter.build().map_err(|error| StartError(error.to_string()))?;
                let exporter = Counted { inner: exporter, tally: tally.clone() };
                let batches = BatchSpanProcessor::builder(exporter).build();
                traces = traces.with_span_processor(Counted { inner: batches, tally: tally.clone() });
            }
            None => traces = traces.with_sampler(Sampler::AlwaysOff),
        }
        let mut metrics = SdkMeterProvider::builder().with_resource(resource);
        if let Some(url) = &settings.metrics {
            let exporter = MetricExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
            let client = client(url, timeout("METRICS"))?;
            let exporter = exporter.with_endpoint(url.as_str()).with_shared_http_client(client);
            let exporter = exporter.build().map_err(|error| StartError(error.to_string()))?;
            let exporter = Counted { inner: exporter, tally: tally.clone() };
            metrics = metrics.with_reader(PeriodicReader::builder(exporter).build());
        }
        Ok(Self { traces: traces.build(), metrics: metrics.build(), tally, closed: AtomicBool::new(false) })
    }

    /// Sends what is left, on threads of their own, because the SDK waits by blocking; `done` hears of it.
    pub(super) fn close(&self, within: Duration, done: impl FnOnce() + Send + 'static) {
        self.closed.store(true, Ordering::Release);
        let (traces, metrics) = (self.traces.clone(), self.metrics.clone());
        std::thread::spawn(move || {
            let traces = std::thread::spawn(move || traces.shutdown_with_timeout(within));
            // What went wrong is in the tally.
            let _ = metrics.shutdown_with_timeout(within);
            let _ = traces.join();
            done();
        });
    }
}

impl Drop for Ways {
    /// Whoever did not wait for the end does not wait for it here either.
    fn drop(&mut self) {
        if !self.closed.load(Ordering::Acquire) {
            self.close(TIMEOUT, || {});
        }
    }
}

/// What the usual variables say of this process.
fn resource() -> Resource {
    let resource = Resource::builder().build();
    let name = resource.get(&Key::from_static_str("service.name")).map(|name| name.to_string());
    match name {
        Some(name) if !name.starts_with("unknown_service") => resource,
        _ => Resource::builder().with_service_name("vertebra").build(),
    }
}

/// How long a collector may take to answer, by the usual variables.
fn timeout(signal: &str) -> Duration {
    let millis = |name: &str| std::env::var(name).ok()?.trim().parse().ok().map(Duration::from_millis);
    let own = millis(&format!("OTEL_EXPORTER_OTLP_{signal}_TIMEOUT"));
    own.or_else(|| millis("OTEL_EXPORTER_OTLP_TIMEOUT")).unwrap_or(TIMEOUT)
}

/// A client that follows no redirect, which could carry a key elsewhere, and asks no proxy that the environment happens to
/// name. To read the machine's certificates takes time that plain HTTP need not spend.
fn client(url: &Url, timeout: Duration) -> Result<Arc<dyn HttpClient>, StartError> {
    let is_plain = url.scheme() == "http";
    let make = move || {
        // The client takes the provider of the process. If somebody has chosen one already, theirs is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().redirect(Policy::none());
        let client = client.timeout(timeout).connect_timeout(CONNECT_TIMEOUT);
        let client = if is_plain { client.tls_certs_only([]) } else { client };
        client.build()
    };
    // It brings a runtime of its own, which cannot be made on a thread that belongs to another one.
    match std::thread::spawn(make).join() {
        Ok(Ok(client)) => Ok(Arc::new(client)),
        Ok(Err(error)) => Err(StartError(error.to_string())),
        Err(_panic) => Err(StartError("the client's thread panicked".to_owned())),
    }
}

/// Counts what goes in and what has arrived.
#[derive(Debug)]
struct Counted<T> {
    inner: T,
    tally: Arc<Tally>,
}

impl SpanProcessor for Counted<BatchSpanProcessor> {
    fn on_start(&self, span: &mut Span, cx: &Context) {
        self.inner.on_start(span, cx);
    }

    fn on_end(&self, span: SpanData) {
        self.tally.ended.fetch_add(1, Ordering::AcqRel);
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl opentelemetry_sdk::trace::SpanExporter for Counted<SpanExporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len() as u64;
        let result = self.inner.export(batch).await;
        self.tally.heard(&result);
        if result.is_ok() {
            self.tally.delivered.fetch_add(count, Ordering::AcqRel);
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl PushMetricExporter for Counted<MetricExporter> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.inner.export(metrics).await;
        self.tally.heard(&result);
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}
