//! Every verdict of every point is honoured.
