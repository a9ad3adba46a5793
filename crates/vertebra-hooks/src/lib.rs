//! Typed, ordered, testable hook points.
