//! Patches that several agents send through one tool: the files they name are paths, and their text is no command.

use serde_json::{Map, Value};

/// Lines of a patch that name a file.
const HEADS: &[&str] = &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Arguments that hold a patch, as rules can see them: `{"patch": …, "paths": […]}`. Says under which key the patch stood.
pub(super) fn opened(args: &mut Map<String, Value>) -> Option<String> {
    let is_patch = |value: &Value| value.as_str().is_some_and(|text| text.trim_start().starts_with("*** Begin Patch"));
    let key = args.iter().find(|(_, value)| is_patch(value)).map(|(key, _)| key.clone())?;
    let patch = args.remove(&key)?;
    let named = patch.as_str().unwrap_or_default().lines().filter_map(|line| {
        HEADS.iter().find_map(|head| line.trim().strip_prefix(head.trim_end())).map(|path| path.trim().into())
    });
    let named: Vec<Value> = named.collect();
    args.insert("patch".to_owned(), patch);
    args.insert("paths".to_owned(), named.into());
    Some(key)
}

/// The arguments as the host has them.
pub(super) fn closed(args: &mut Map<String, Value>, key: &str) {
    args.remove("paths");
    if let Some(patch) = args.remove("patch") {
        args.insert(key.to_owned(), patch);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_file_of_a_patch_is_a_path_and_its_text_is_no_command() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: .env\n@@\n-x\n+rm -rf /\n*** Add File: b\n+\n*** Delete File: c d\n*** End Patch";
        let given = json!({ "command": patch });
        let mut args = given.as_object().cloned().expect("an object");
        let key = opened(&mut args).expect("a patch");
        assert_eq!(args["paths"], json!(["src/a.rs", ".env", "b", "c d"]));
        assert!(args.get("command").is_none());
        closed(&mut args, &key);
        assert_eq!(Value::Object(args), given);
    }
}
