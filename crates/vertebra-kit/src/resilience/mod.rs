//! Limits, retries, fallbacks, timeouts and a cache: what keeps an agent going when something outside does not, and what
//! keeps it from going on for ever. Each is a small capability of its own.
//!
//! ```
//! use std::time::Duration;
//! use vertebra::{Agent, ModelId, testing::Script};
//! use vertebra_kit::resilience::{ModelFallback, ModelRetry, ToolCallLimit, ToolTimeout};
//!
//! let agent = Agent::builder(Script::new())
//!     .with(ModelRetry::default())
//!     .with(ModelFallback::to([ModelId::new("script", "spare")]))
//!     .with(ToolTimeout::of("search", Duration::from_secs(30)))
//!     .with(ToolCallLimit::per_run(5).tool("search"))
//!     .build();
//! # agent.unwrap();
//! ```
//!
//! A failing model is asked again by [`ModelRetry`] first, inside of [`ModelFallback`]: each model of the list gets its
//! retries. Guards are never switched off by what happens around them: there is no breaker that could.

mod backoff;
mod finish_guard;
mod model_call_limit;
mod model_fallback;
mod model_retry;
mod response_cache;
mod router;
mod store;
mod tally;
mod tool_call_limit;
mod tool_retry;
mod tool_timeout;

pub use backoff::Backoff;
pub use finish_guard::FinishGuard;
pub use model_call_limit::ModelCallLimit;
pub use model_fallback::{ModelFallback, Stay};
pub use model_retry::ModelRetry;
pub use response_cache::{CachePolicy, CacheScope, ResponseCache, ToolCalls};
pub use router::Router;
pub use tally::{AtLimit, Ending};
pub use tool_call_limit::ToolCallLimit;
pub use tool_retry::{Repeatable, ToolRetry};
pub use tool_timeout::ToolTimeout;
