//! Answers as typed values: extracted, checked, asked for again.
