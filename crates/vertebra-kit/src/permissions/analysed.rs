//! The analysis of a command, made once for each call: the hook that notes denied paths makes it and the judge takes it. It
//! asks git what a repository holds, so that a second one would cost as much again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use vertebra::{RunInfo, ToolCall};

use super::subject::{Standing, Subject};

/// How many analyses wait for the judge. A call that another hook refuses never reaches it.
const MAX_WAITING: usize = 64;

/// Analyses by run and call.
#[derive(Default)]
pub(super) struct Analysed(Mutex<HashMap<CallKey, Known>>);

/// A run and a call of it.
type CallKey = (Arc<str>, Arc<str>);

struct Known {
    digest: String,
    standing: Standing,
    subject: Arc<Subject>,
}

impl Analysed {
    pub(super) fn put(&self, run: &RunInfo, call: &ToolCall, standing: Standing, subject: Arc<Subject>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_WAITING {
            known.clear();
        }
        let key = (run.run_id.clone(), call.id.clone());
        known.insert(key, Known { digest: call.args.digest(), standing, subject });
    }

    /// Takes the analysis of a call, if it is about this very call, made in these folders and by the same rules.
    pub(super) fn take(&self, run: &RunInfo, call: &ToolCall, standing: &Standing) -> Option<Arc<Subject>> {
        let key = (run.run_id.clone(), call.id.clone());
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key)?;
        let is_same = known.digest == call.args.digest()
            && known.standing == *standing
            && known.subject.names.first().is_some_and(|name| call.tool == **name);
        is_same.then_some(known.subject)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vertebra::testing;

    use super::*;

    #[test]
    fn an_analysis_serves_the_same_call_once_and_no_other() {
        let (call, standing) = (testing::call("bash", json!({ "command": "ls" })), Standing::default());
        let analysed = Analysed::default();
        let put = || {
            let subject = Subject::new(&call, None, standing.clone()).expect("a subject");
            analysed.put(&call.at.run, &call, standing.clone(), Arc::new(subject));
        };
        let take = |call: &ToolCall, standing: &Standing| {
            analysed.take(&testing::call("x", json!({})).at.run, call, standing).is_some()
        };
        put();
        assert!(take(&call, &standing));
        assert!(!take(&call, &standing), "it was taken");
        put();
        assert!(!take(&call, &Standing { shell: Some("/tmp".to_owned()), ..standing.clone() }), "from another folder");
        put();
        assert!(!take(&testing::call("bash", json!({ "command": "cat a" })), &standing), "another command");
        put();
        let rules = vec![Arc::new("Read(.env)".parse().expect("a rule"))];
        assert!(!take(&call, &Standing { reads: rules, ..standing.clone() }), "other rules");
    }
}
