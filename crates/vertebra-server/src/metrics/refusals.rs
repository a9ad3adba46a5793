//! Requests that were answered with an error at once: counted by why.

use tonic::{Code, Status, body::Body, codegen::http};

use super::Counter;

/// How many requests were refused, by code.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusals([Counter; 17]);

impl Refusals {
    /// Looks at an answer, and counts it if it is a refusal.
    pub(crate) fn look(&self, answer: http::Response<Body>) -> http::Response<Body> {
        // In the headers it is where nothing else comes.
        let Some(said) = answer.headers().get("grpc-status") else { return answer };
        let code = Code::from_bytes(said.as_bytes());
        let too_much = answer.extensions().get::<Status>().filter(|_| code == Code::OutOfRange);
        let answer = too_much.map(|status| plainly(status.clone()).into_http()).unwrap_or(answer);
        let code = if code == Code::OutOfRange { Code::ResourceExhausted } else { code };
        if let Some(counter) = self.0.get(code as usize).filter(|_| code != Code::Ok) {
            counter.count();
        }
        answer
    }

    /// Every code that was ever said, and how often.
    pub(super) fn told(&self) -> impl Iterator<Item = (Code, u64)> {
        let all = (0..).zip(&self.0).map(|(code, counter)| (Code::from_i32(code), counter.get()));
        all.filter(|(_, times)| *times > 0)
    }
}

/// What is too large is too much of something, not out of a range.
pub(crate) fn plainly(status: Status) -> Status {
    if status.code() == Code::OutOfRange { Status::resource_exhausted(status.message()) } else { status }
}
