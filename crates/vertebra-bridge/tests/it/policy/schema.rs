//! The schema for editors and the reader agree.

use serde_json::Value;
use vertebra_bridge::settings::{Level, json_schema, parse};

/// A TOML text as JSON, as an editor sees it.
fn json(text: &str) -> Value {
    fn item(item: &toml_edit::Item) -> Value {
        match item {
            toml_edit::Item::None => Value::Null,
            toml_edit::Item::Value(value) => of(value),
            toml_edit::Item::Table(inner) => table(inner),
            toml_edit::Item::ArrayOfTables(tables) => tables.iter().map(|inner| table(inner)).collect(),
        }
    }
    fn table(table: &dyn toml_edit::TableLike) -> Value {
        Value::Object(table.iter().map(|(key, inner)| (key.to_owned(), item(inner))).collect())
    }
    fn of(value: &toml_edit::Value) -> Value {
        match value {
            toml_edit::Value::String(text) => text.value().as_str().into(),
            toml_edit::Value::Integer(number) => (*number.value()).into(),
            toml_edit::Value::Float(number) => (*number.value()).into(),
            toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
            toml_edit::Value::Datetime(moment) => moment.value().to_string().into(),
            toml_edit::Value::Array(list) => list.iter().map(of).collect(),
            toml_edit::Value::InlineTable(inner) => table(inner),
        }
    }
    let document: toml_edit::DocumentMut = text.parse().expect(text);
    table(document.as_table())
}

#[test]
fn what_the_reader_takes_the_schema_takes_and_what_the_schema_refuses_the_reader_refuses() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let good = [
        "[model]\nname = \"a:b\"\n[model.provider.openai]\nbase_url = \"http://x/v1\"\nkey = \"A_KEY\"\n",
        "[permissions]\nmode = \"plan\"\nallow = [\"Read(**)\"]\n[limits]\nsteps = 3\ntime = \"10m\"\ncost = 2\n",
        "[sandbox]\nneed = \"off\"\nwrite = [\"~/a\"]\n[instructions]\ntext = \"x\"\n[mcp]\nfile = \"~/mcp.json\"\n",
        "[hooks]\ndisable = [\"a\"]\nproject = false\n",
        "[[hook]]\npoint = \"pre_tool_use\"\ndeny = \"no\"\nmatch = { tool = [\"bash\", \"deploy\"], any = [{ args = { \"/a\" = { exists = true } } }], not = { path = \"*\" } }\n[tools]\nknown = [\"deploy\"]\n",
        "[[hook]]\npoint = \"PromptSubmit\"\nadd_context = \"x\"\nset = { prompt = \"y\" }\non_failure = \"open\"\n",
        "[[hook]]\npoint = \"Stop\"\nrun = { command = [\"a\"], env = [\"X\"], timeout = \"500ms\" }\nmax_retries = 1\n",
        "[[hook]]\npoint = \"Stop\"\nrun = { http = \"https://a\", headers = { A = \"$X\" } }\nbefore = \"a/b\"\n",
    ];
    for text in good {
        assert!(parse(text, Level::User, "x").is_ok(), "{text}");
        let errors: Vec<String> = validator.iter_errors(&json(text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{text}: {errors:?}");
    }
    let bad = [
        "[permisions]\nallow = []\n",
        "[tools]\nknown = \"deploy\"\n",
        "[permissions]\nmode = \"bypass\"\n",
        "[limits]\nsteps = 0\n",
        "[limits]\ntime = \"1 day\"\n",
        "[[hook]]\npoint = \"Stop\"\nstopp = \"x\"\n",
        "[[hook]]\npoint = 3\nstop = \"x\"\n",
        "[[hook]]\npoint = \"Stop\"\nrole = \"around\"\nstop = \"x\"\n",
        "[[hook]]\npoint = \"BeforeToolUse\"\nallow = false\n",
        "[[hook]]\npoint = \"BeforeToolUse\"\ndeny = \"no\"\nmatch = { toool = \"bash\" }\n",
        "[[hook]]\npoint = \"BeforeToolUse\"\ndeny = \"no\"\nmatch = { not = { toool = \"bash\" } }\n",
        "[[hook]]\npoint = \"BeforeToolUse\"\ndeny = \"no\"\nmatch = { args = { \"/a\" = { equal = 1 } } }\n",
        "[[hook]]\npoint = \"BeforeToolUse\"\nrun = { comand = \"x\" }\n",
        "[[hook]]\npoint = \"BeforeToolUse\"\nrun = { command = \"x\", timeout = 10 }\n",
    ];
    for text in bad {
        assert!(!validator.is_valid(&json(text)), "{text}");
        assert!(parse(text, Level::User, "x").is_err(), "{text}");
    }
}

#[test]
fn every_setting_of_the_schema_has_a_shape() {
    fn shapes(schema: &Value, path: &str) {
        for (key, shape) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            assert!(shape.as_object().is_some_and(|shape| !shape.is_empty()), "{path} has no shape");
            shapes(shape, &path);
            shapes(&shape["items"], &path);
        }
    }
    let schema = json_schema();
    shapes(&schema, "");
    assert!(schema["properties"]["hook"]["items"]["properties"]["deny"].is_object(), "{schema:#}");
}
