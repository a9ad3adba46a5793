//! Conversations made shorter, cheap ways first.
