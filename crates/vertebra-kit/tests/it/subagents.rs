//! Agents that a model can hand work to.
