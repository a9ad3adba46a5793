//! Tower layers that decide about a tool call, and the service they stand before.

use std::future::{Ready, ready};
use std::hint::black_box;
use std::task::{Context, Poll};

use bench_harness::work;
use tower::filter::{AsyncFilterLayer, AsyncPredicate};
use tower::{BoxError, Layer, Service, ServiceExt};

/// A tool call that is about to happen.
#[derive(Debug)]
pub struct ToolCall {
    pub tool: String,
    pub command: String,
}

/// Leaked by [`request`], because boxed services take no borrowed requests.
pub type Request = &'static ToolCall;

/// `bash` is about to run the usual command.
pub fn request() -> Request {
    Box::leak(Box::new(ToolCall { tool: work::BASH.to_owned(), command: work::COMMAND.to_owned() }))
}

/// The innermost service: a tool that does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Tool;

impl Service<Request> for Tool {
    type Response = Request;
    type Error = BoxError;
    type Future = Ready<Result<Request, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(Ok(request))
    }
}

/// An asynchronous decision that lets everything pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass;

impl AsyncPredicate<Request> for Pass {
    type Future = Ready<Result<Request, BoxError>>;
    type Request = Request;

    fn check(&mut self, request: Request) -> Self::Future {
        // Without it the compiler sees through the whole stack and leaves nothing to measure.
        ready(Ok(black_box(request)))
    }
}

/// A layer that awaits [`Pass`]: tower's own way to do so.
pub fn awaiting() -> AsyncFilterLayer<Pass> {
    AsyncFilterLayer::new(Pass)
}

/// A layer that decides without awaiting anything, so that it needs no clone of the service behind it.
#[derive(Clone, Copy, Debug)]
pub struct Deciding;

/// The service of [`Deciding`].
#[derive(Clone, Copy, Debug)]
pub struct Decided<S> {
    inner: S,
}

impl<S> Layer<S> for Deciding {
    type Service = Decided<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Decided { inner }
    }
}

impl<S: Service<Request>> Service<Request> for Decided<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> S::Future {
        self.inner.call(black_box(request))
    }
}

/// The routine to measure: waits until the stack is ready and calls it.
pub fn call<S>(mut service: S) -> impl AsyncFnMut() -> Result<Request, BoxError>
where
    S: Service<Request, Response = Request, Error = BoxError>,
{
    let request = request();
    async move || service.ready().await?.call(black_box(request)).await
}
