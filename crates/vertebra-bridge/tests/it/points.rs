//! The lists that are made from the table of points: `sdk/points.json`, which says what each point is to programs in other
//! languages, and the tables of the SDKs.
//!
//! After a change: `UPDATE_EXPECTED=1 cargo nextest run -p vertebra-bridge points`.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value, json};
use vertebra::{AgentPoint as _, AnyPoint, Changeable, Kind, POINT_TABLE, PointInfo, ToolResult, point_named};
use vertebra_bridge::wire::{Happened, Reply};

/// Checks that a file is what the table of points makes of it, or writes it.
#[track_caller]
fn check(path: &str, wanted: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&file, wanted).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == wanted, "{path} is not what the table of points says: UPDATE_EXPECTED=1 writes it anew");
}

#[test]
fn the_list_of_points_for_other_languages_says_what_the_table_says() {
    let points: Vec<Value> = POINT_TABLE.iter().map(|point| describe(*point)).collect();
    check("sdk/points.json", &(serde_json::to_string_pretty(&json!({ "points": points })).expect("JSON") + "\n"));
}

#[test]
fn the_tables_of_the_sdks_are_made_from_the_table_of_points() {
    check("sdk/python/src/vertebra/_table.py", &in_python(&rows()));
    check("sdk/typescript/src/points/rows.ts", &in_typescript(&rows()));
}

/// One more row in the table, and nothing else, is one more point in every list.
#[test]
fn a_point_that_is_added_to_the_table_is_in_every_list() {
    let added = PointInfo {
        name: "BeforeDeploy",
        aliases: &["PreDeploy"],
        powers: &[Kind::Deny],
        changes: Changeable::Fields(&["replicas"]),
        guards: true,
        ..*vertebra::BeforeStep.info()
    };
    let table = [rows(), vec![added]].concat();
    let python = in_python(&table);
    let row = "        Point(\"BeforeDeploy\", (\"deny\",), opens=(\"replicas\",), attributes=(\"session\", \"agent\"), \
               aliases=(\"PreDeploy\",)),";
    assert!(python.contains(row), "{python}");
    let typescript = in_typescript(&table);
    assert!(
        typescript.contains("  BeforeDeploy: { verdicts: [\"deny\"], guard: true, change: [\"replicas\"] },"),
        "{typescript}"
    );
    assert!(typescript.contains("  PreDeploy: \"BeforeDeploy\","), "{typescript}");
}

#[test]
fn every_point_of_the_table_is_known_to_configuration_and_wire() {
    for info in rows() {
        for name in std::iter::once(&info.name).chain(info.aliases) {
            assert_eq!(point_named(name), Some(info.name));
            let read = Happened::read(&json!({ "point": name })).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read.point.name, info.name);
        }
    }
    let docs = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/semantics.md"));
    let docs = docs.expect("docs/semantics.md");
    let answers = |info: &PointInfo| {
        let words =
            info.powers.iter().map(|kind| if *kind == Kind::GoOn { "continue".to_owned() } else { word(*kind) });
        if info.powers.is_empty() { "–".to_owned() } else { words.collect::<Vec<_>>().join(", ") }
    };
    for info in &rows() {
        let row = docs.lines().find(|line| line.starts_with(&format!("| `{}` |", info.name)));
        let row = row.unwrap_or_else(|| panic!("docs/semantics.md has no row for {}", info.name));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[3], answers(info), "docs/semantics.md: {row}");
        for alias in info.aliases {
            assert!(docs.contains(&format!("`{alias}`")), "docs/semantics.md does not name the alias {alias}");
        }
    }
}

fn word(kind: Kind) -> String {
    json!(kind).as_str().expect("a word").to_owned()
}

fn quoted(words: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    words.into_iter().map(|word| format!("\"{}\"", word.as_ref())).collect()
}

/// The longest line of a generated file.
const WIDTH: usize = 120;

/// The table of the Python SDK, as `ruff format` writes it.
fn in_python(table: &[PointInfo]) -> String {
    let tuple = |words: Vec<String>| match words.as_slice() {
        [one] => format!("({one},)"),
        _ => format!("({})", words.join(", ")),
    };
    let keys = |info: &PointInfo| info.attributes.iter().map(|attribute| attribute.key).collect::<Vec<_>>();
    let rows = table.iter().map(|info| {
        let mut fields = vec![format!("\"{}\"", info.name)];
        if !info.powers.is_empty() {
            fields.push(tuple(quoted(info.powers.iter().map(|kind| word(*kind)))));
        }
        match info.changes {
            Changeable::Nothing => {}
            Changeable::Args => fields.push("opens=ARGS".to_owned()),
            Changeable::Fields(names) => fields.push(format!("opens={}", tuple(quoted(names)))),
        }
        fields.extend((!info.guards).then(|| "guards=False".to_owned()));
        fields.push(format!("attributes={}", tuple(quoted(keys(info)))));
        fields.extend((!info.aliases.is_empty()).then(|| format!("aliases={}", tuple(quoted(info.aliases)))));
        let line = format!("        Point({}),", fields.join(", "));
        if line.chars().count() <= WIDTH {
            return line;
        }
        format!("        Point(\n            {},\n        ),", fields.join(",\n            "))
    });
    format!(
        "\"\"\"The points of an agent's life. Generated from the runtime's table of points; do not edit.\"\"\"\n\n\
         from .point import ARGS, Point\n\n\
         POINTS: dict[str, Point] = {{\n    point.name: point\n    for point in (\n{}\n    )\n}}\n\
         \"\"\"Every point by its name, in the order of an agent's life.\"\"\"\n",
        rows.collect::<Vec<_>>().join("\n")
    )
}

/// The tables of the TypeScript SDK, as `biome` formats them.
fn in_typescript(table: &[PointInfo]) -> String {
    let list = |words: Vec<String>| format!("[{}]", words.join(", "));
    let rows = table.iter().map(|info| {
        let change = match info.changes {
            Changeable::Nothing => "[]".to_owned(),
            Changeable::Args => "\"args\"".to_owned(),
            Changeable::Fields(names) => list(quoted(names)),
        };
        let fields = [
            format!("verdicts: {}", list(quoted(info.powers.iter().map(|kind| word(*kind))))),
            format!("guard: {}", info.guards),
            format!("change: {change}"),
        ];
        let line = format!("  {}: {{ {} }},", info.name, fields.join(", "));
        if line.chars().count() <= WIDTH {
            return line;
        }
        format!("  {}: {{\n    {},\n  }},", info.name, fields.join(",\n    "))
    });
    let aliases =
        table.iter().flat_map(|info| info.aliases.iter().map(|alias| format!("  {alias}: \"{}\",", info.name)));
    format!(
        "// The points of an agent's life. Generated from the runtime's table of points; do not edit.\n\n\
         /** Every point, in the order of an agent's life. */\n\
         export const ROWS = {{\n{}\n}} as const;\n\n\
         /** Names that other agents have for our points. */\n\
         export const ALIASES = {{\n{}\n}} as const;\n",
        rows.collect::<Vec<_>>().join("\n"),
        aliases.collect::<Vec<_>>().join("\n")
    )
}

/// A point in words.
fn describe(point: AnyPoint) -> Value {
    let PointInfo { name, aliases, attributes, powers, guards, changes, .. } = *point.row();
    let changes = match changes {
        Changeable::Nothing => json!([]),
        Changeable::Args => json!("args"),
        Changeable::Fields(fields) => json!(fields),
    };
    let attributes: Vec<&str> = attributes.iter().map(|attribute| attribute.key).collect();
    let kinds = || [Kind::Proceed, Kind::Skip].iter().chain(powers);
    let answers: Vec<Value> = kinds().map(|kind| answer(point, *kind)).collect();
    let head = json!({
        "agent": "main", "working_directory": "/project", "timestamp": "2026-01-02T03:04:05Z", "step": 1,
        "event_id": "run-1.7",
    });
    let mut fields = point.sample().as_object().cloned().expect("an object");
    fields.extend(head.as_object().cloned().expect("an object"));
    let event = Happened::at(point, &fields).unwrap_or_else(|error| panic!("{name}: {error}"));
    json!({
        "name": name, "aliases": aliases, "verdicts": kinds().collect::<Vec<_>>(), "guards": guards,
        "changes": changes, "attributes": attributes, "answers": answers, "event": event.event,
    })
}

/// An answer of this kind, whole: the first of those that can be written which the point takes.
fn answer(point: AnyPoint, kind: Kind) -> Value {
    let more = [
        json!({}),
        json!({ "reason": "force is for humans" }),
        json!({ "instruction": "run the tests" }),
        json!({ "after_ms": 100 }),
        json!({ "with": "done by hand" }),
        json!({ "with": ToolResult::done("done by hand") }),
        json!({ "with": AnyPoint::new(&vertebra::AfterInference).sample()["response"] }),
    ];
    let answers = more.into_iter().map(|more| {
        let mut answer = Map::from_iter([("verdict".to_owned(), json!(kind))]);
        answer.extend(more.as_object().cloned().into_iter().flatten());
        Value::Object(answer)
    });
    let fits = |answer: &Value| {
        let verdict = Reply::from_value(answer.clone()).and_then(|reply| reply.verdict_at(point));
        // What is read and not written again was read over.
        verdict.is_ok_and(|verdict| verdict.as_ref() == Some(answer))
    };
    let mut taken = answers.filter(fits);
    taken.next().unwrap_or_else(|| panic!("nobody knows how to write `{kind:?}` at {point}"))
}

/// The rows of the table of points.
fn rows() -> Vec<PointInfo> {
    POINT_TABLE.iter().map(|point| *point.row()).collect()
}

#[test]
fn whoever_refuses_need_not_say_why() {
    for word in ["deny", "block", "ask"] {
        let reply = Reply::from_value(json!({ "verdict": word })).expect("an answer");
        let verdict =
            reply.verdict_at(AnyPoint::new(&vertebra::BeforeToolUse)).expect("a verdict").expect("an opinion");
        assert_eq!(verdict["reason"], "the hook gives no reason", "{word}");
    }
}

#[test]
fn an_answer_that_says_one_thing_twice_is_none() {
    let twice = r#"{"verdict": "deny", "reason": "x", "verdict": "allow"}"#;
    let error = Reply::read(twice).expect_err("no answer").to_string();
    assert!(error.contains("duplicate field `verdict`"), "{error}");
}
