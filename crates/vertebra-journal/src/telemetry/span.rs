//! One span from beginning to end, and who a session and a run are in every process that works on them.

use std::{cell::Cell, time::SystemTime};

use opentelemetry::{
    Context, KeyValue, Value,
    trace::{
        Event, Link, Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags,
        TraceId, TraceState,
    },
};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, Span};

/// A span to be.
pub(super) struct Plan {
    builder: SpanBuilder,
    named: Option<SpanContext>,
}

impl Plan {
    pub(super) fn new(name: impl Into<std::borrow::Cow<'static, str>>, began: SystemTime) -> Self {
        let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Internal).with_start_time(began);
        Self { builder: builder.with_attributes([]), named: None }
    }

    /// Something is asked of another program.
    pub(super) fn of_client(mut self) -> Self {
        self.builder.span_kind = Some(SpanKind::Client);
        self
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.builder.attributes.get_or_insert_default().push(KeyValue::new(name, value));
        self
    }

    pub(super) fn with_some(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn events(mut self, events: Vec<Event>) -> Self {
        self.builder.events = Some(events);
        self
    }

    /// The identifiers it gets.
    pub(super) fn named(mut self, context: SpanContext) -> Self {
        self.named = Some(context);
        self
    }

    /// It goes on with something that another trace tells of.
    pub(super) fn linked(mut self, to: Option<SpanContext>) -> Self {
        self.builder.links = to.map(|context| vec![Link::with_context(context)]);
        self
    }

    pub(super) fn begin(self, tracer: &SdkTracer, parent: &Context) -> Open {
        let began = self.builder.start_time.unwrap_or(SystemTime::UNIX_EPOCH);
        NEXT.set(self.named.map(|named| (named.trace_id(), named.span_id())));
        let span = self.builder.start_with_context(tracer, parent);
        NEXT.set(None);
        Open { span, began }
    }
}

/// A span that has begun.
pub(super) struct Open {
    span: Span,
    began: SystemTime,
}

impl Open {
    /// For spans inside this one.
    pub(super) fn context(&self) -> Context {
        Context::new().with_remote_span_context(self.span.span_context().clone())
    }

    pub(super) fn began(&self) -> SystemTime {
        self.began
    }

    pub(super) fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.span.set_attribute(KeyValue::new(name, value));
    }

    pub(super) fn note(&mut self, name: &'static str, at: SystemTime, attributes: Vec<KeyValue>) {
        self.span.add_event_with_timestamp(name, at, attributes);
    }

    /// It went wrong: in one word for whoever counts, and in words for whoever reads.
    pub(super) fn fail(&mut self, kind: impl Into<Value>, message: String) {
        self.set(super::names::ERROR, kind);
        self.span.set_status(Status::error(message));
    }

    /// Ends it; if a clock went backwards, where it began.
    pub(super) fn end(mut self, at: SystemTime) {
        self.span.end_with_timestamp(at.max(self.began));
    }
}

/// What a session or a run is called in traces: made of its identifier and of how often its session was resumed, so that
/// another process that goes on with it can point back here.
pub(super) fn name_of(session_id: &str, run_id: &str, part: u32) -> SpanContext {
    let digest = |id: &str| *blake3::hash(format!("{id}\n{part}").as_bytes()).as_bytes();
    let (trace, span) = (digest(session_id), digest(run_id));
    let first = |bytes: [u8; 32]| std::array::from_fn(|index| bytes[index]);
    let last = |bytes: [u8; 32]| std::array::from_fn(|index| bytes[index + 16]);
    let (trace, span) = (TraceId::from_bytes(first(trace)), SpanId::from_bytes(last(span)));
    SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::NONE)
}

thread_local! {
    /// The identifiers of the span that is being made on this thread: the interface has no argument for them.
    static NEXT: Cell<Option<(TraceId, SpanId)>> = const { Cell::new(None) };
}

/// Gives spans the identifiers they are to have, and others one by chance.
#[derive(Debug, Default)]
pub(super) struct Ids(RandomIdGenerator);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        NEXT.get().map_or_else(|| self.0.new_trace_id(), |(trace, _)| trace)
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.get().map_or_else(|| self.0.new_span_id(), |(_, span)| span)
    }
}
