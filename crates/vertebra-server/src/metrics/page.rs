//! The page with the numbers, over plain HTTP.

use std::{convert::Infallible, fmt::Write as _, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::CONTENT_TYPE,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::{Server, lanes::Lane, server::Inner};

/// How long one may take to ask and to read.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many may ask at once.
const AT_ONCE: usize = 16;

/// How long it takes until somebody is listened to again when nobody could be.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

impl Server {
    /// Tells numbers to whoever asks here for `/metrics`, until the server is shut down. Nobody needs a name for it.
    pub async fn tell_metrics(&self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let answer = async {
            // It is never closed.
            while let Ok(place) = places.clone().acquire_owned().await {
                let Ok((connection, _)) = listener.accept().await else {
                    sleep(AFTER_FAILURE).await;
                    continue;
                };
                let server = self.clone();
                tokio::spawn(async move {
                    let _place = place;
                    let page = service_fn(async |request| Ok::<_, Infallible>(server.inner().answer(&request)));
                    let mut http = http1::Builder::new();
                    // One question for each connection: nobody holds one that others wait for.
                    let http = http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
                    let _ = timeout(PATIENCE, http.serve_connection(TokioIo::new(connection), page)).await;
                });
            }
        };
        tokio::select! {
            () = answer => {}
            () = self.inner().closed() => {}
        }
    }
}

impl Inner {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (status, text) = match (request.method(), request.uri().path()) {
            (&Method::GET, "/metrics") => (StatusCode::OK, self.numbers()),
            (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
            _ => (StatusCode::NOT_FOUND, "the numbers are at /metrics\n".to_owned()),
        };
        let mut answer = Response::new(Full::from(text));
        *answer.status_mut() = status;
        let kind = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        answer
    }

    /// All numbers, as they are now.
    fn numbers(&self) -> String {
        let mut page = Page(String::new());
        let clients = self.clients.all();
        let there = clients.iter().filter(|client| client.is_there()).count();
        let hooks: usize = clients.iter().map(|client| client.hooks().len()).sum();
        page.gauge("sessions_open", "Sessions that are open here.", self.sessions.all().len());
        page.gauge("sessions_running", "Sessions with a run under way.", self.sessions.running());
        page.gauge("clients", "Clients with hooks, those that may come back included.", clients.len());
        page.gauge("clients_connected", "Clients with hooks that are there.", there);
        page.gauge("hooks", "Hooks that live in clients.", hooks);
        page.gauge("approvals_waiting", "Questions that wait for an answer.", self.questions.waiting());
        page.gauge("draining", "Whether the server is going down.", usize::from(self.draining.is_cancelled()));
        let lanes = || Lane::ALL.into_iter().map(|lane| (format!("{lane:?}").to_lowercase(), lane));
        let waiting = lanes().map(|(name, lane)| (name, self.lanes.waiting(lane) as u64));
        page.several("lane_waiting", "gauge", "Commands that wait for a place.", "lane", waiting);
        let under_way = lanes().map(|(name, lane)| (name, self.lanes.under_way(lane) as u64));
        page.several("lane_under_way", "gauge", "Commands that are under way.", "lane", under_way);
        let events = &self.clients.exchanges;
        page.counter("events_put_total", "Events that were put to hooks in clients.", events.put.get());
        let ends = [
            ("answered", &events.answered),
            ("failed", &events.failed),
            ("timed_out", &events.timed_out),
            ("missed", &events.missed),
        ];
        let ends = ends.map(|(end, counter)| (end.to_owned(), counter.get()));
        page.several("events_ended_total", "counter", "What became of events for hooks in clients.", "end", ends);
        let refused = self.metrics.refusals.told().map(|(code, times)| (format!("{code:?}"), times));
        page.several("requests_refused_total", "counter", "Requests that were refused at once.", "code", refused);
        let connections = &self.metrics.connections;
        let ends = [("crowded_out", &connections.crowded_out), ("timed_out", &connections.timed_out)];
        let ends = ends.map(|(end, counter)| (end.to_owned(), counter.get()));
        let about = "Connections that ended before a request on them was let in.";
        page.several("connections_refused_total", "counter", about, "reason", ends);
        page.0
    }
}

/// Text that Prometheus reads.
struct Page(String);

impl Page {
    fn gauge(&mut self, name: &str, about: &str, value: usize) {
        self.head(name, "gauge", about);
        self.line(format_args!("vertebra_{name} {value}"));
    }

    fn counter(&mut self, name: &str, about: &str, value: u64) {
        self.head(name, "counter", about);
        self.line(format_args!("vertebra_{name} {value}"));
    }

    fn several(
        &mut self,
        name: &str,
        kind: &str,
        about: &str,
        label: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.head(name, kind, about);
        for (of, value) in values {
            self.line(format_args!("vertebra_{name}{{{label}=\"{of}\"}} {value}"));
        }
    }

    fn head(&mut self, name: &str, kind: &str, about: &str) {
        self.line(format_args!("# HELP vertebra_{name} {about}"));
        self.line(format_args!("# TYPE vertebra_{name} {kind}"));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = writeln!(self.0, "{text}");
    }
}
