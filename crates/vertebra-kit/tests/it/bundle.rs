//! Hooks that travel together.
