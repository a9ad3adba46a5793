//! Answers that ended for a reason that nobody wants to go on from.

use std::sync::Arc;

use vertebra::{Purpose, prelude::*};

/// Ends the run when a step's answer ended with one of these words of the provider. The tools it asks for are not run.
#[derive(Debug, Clone)]
pub struct FinishGuard {
    /// The words, in any case.
    pub words: Vec<String>,
}

impl Default for FinishGuard {
    /// What providers say when they would rather not.
    fn default() -> Self {
        Self { words: ["content_filter", "refusal", "safety"].map(str::to_owned).into() }
    }
}

impl Capability for FinishGuard {
    fn install(self, kit: &mut Kit) {
        let words: Arc<[String]> = self.words.into();
        kit.guard(
            AfterInference.when(|inferred| inferred.purpose == Purpose::Step).named("finish-guard/word"),
            async move |cx| match words.iter().find(|word| word.eq_ignore_ascii_case(&cx.response.finish)) {
                Some(word) => stop(format!("the model ended its answer with `{word}`")),
                None => proceed(),
            },
        );
    }
}
