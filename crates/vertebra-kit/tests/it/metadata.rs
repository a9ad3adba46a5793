//! What a model wants to remember: named values in the state.
