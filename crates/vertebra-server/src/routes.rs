//! Hands each request to the gRPC service that its path names.

use std::{
    convert::Infallible,
    future::ready,
    sync::Arc,
    task::{Context, Poll},
};

use tonic::{
    Status,
    body::Body,
    codegen::{self, Bytes, Service, http},
    server::NamedService,
};
use tower::{ServiceExt as _, util::BoxCloneSyncService};
use vertebra::BoxFuture;

type Request = http::Request<Body>;
type Response = http::Response<Body>;

/// The services of a server, by name. Tonic's own router does the same with the whole of axum.
#[derive(Clone)]
pub(crate) struct Routes(Arc<[Route]>);

/// A service and the name that requests call it by.
pub(crate) struct Route {
    name: &'static str,
    service: BoxCloneSyncService<Request, Response, Infallible>,
}

impl Routes {
    pub(crate) fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        Self(routes.into_iter().collect())
    }
}

impl Route {
    pub(crate) fn to<S, B>(service: S) -> Self
    where
        S: Service<Request, Response = http::Response<B>, Error = Infallible, Future: Send + 'static>,
        S: NamedService + Clone + Send + Sync + 'static,
        B: codegen::Body<Data = Bytes, Error: Into<tonic::codegen::StdError>> + Send + 'static,
    {
        let service = service.map_response(|response| response.map(Body::new));
        Self { name: S::NAME, service: BoxCloneSyncService::new(service) }
    }
}

impl Service<Request> for Routes {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The path of a call is `/package.Service/Method`.
        let name = request.uri().path().split('/').nth(1);
        match self.0.iter().find(|route| name == Some(route.name)) {
            Some(route) => Box::pin(route.service.clone().oneshot(request)),
            None => Box::pin(ready(Ok(Status::unimplemented("the server has no such service").into_http()))),
        }
    }
}
