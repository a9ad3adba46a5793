//! Limits, retries, fallbacks, timeouts and a cache.
