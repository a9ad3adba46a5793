//! An agent runtime whose skeleton is hooks.
