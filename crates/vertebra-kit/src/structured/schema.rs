//! A schema that answers are held against, and how an answer is read.

use std::{borrow::Cow, fmt, sync::Arc};

use jsonschema::Validator;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vertebra::Request;

use super::{Maybe, find};

/// Where a request's options say which schema the answer has to fit: `{"name": …, "schema": …}`.
///
/// A driver whose provider can be held to a schema passes it on. Nothing depends on that: answers are checked here.
pub const RESPONSE_SCHEMA: &str = "response_schema";

/// How long an answer may be.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// How many problems of one answer are told, and how long each may be.
const MAX_PROBLEMS: usize = 10;
const MAX_PROBLEM_CHARS: usize = 300;

/// A named schema. Answers are read against it, and values of another shape do not come through.
#[derive(Clone)]
pub struct Schema {
    name: String,
    value: Arc<Value>,
    validator: Arc<Validator>,
    /// What the type behind the schema says, which may know more than the schema.
    accepts: fn(&Value) -> Result<(), String>,
    pub(super) optional: bool,
    pub(super) description: String,
    pub(super) examples: Vec<(String, Value)>,
    pub(super) max_retries: Option<u32>,
}

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not a JSON schema.
    #[error("`{name}` is not a JSON schema: {message}")]
    Invalid {
        /// Its name.
        name: String,
        /// What is wrong with it.
        message: String,
    },
    /// An example of it does not fit it.
    #[error("an example of `{name}` does not fit it: {}", .problems.join("; "))]
    Example {
        /// The schema.
        name: String,
        /// What is wrong with the example.
        problems: Vec<String>,
    },
}

impl Schema {
    /// The schema of a type, under the type's name.
    pub fn of<T: DeserializeOwned + JsonSchema>() -> Result<Self, SchemaError> {
        let schema = Self::json(T::schema_name(), schemars::schema_for!(T).to_value())?;
        Ok(Self { accepts: |value| T::deserialize(value).map(drop).map_err(|error| error.to_string()), ..schema })
    }

    /// The schema of a type for texts that may hold no such value: the model may answer that there is none, and why.
    pub fn maybe<T: DeserializeOwned + JsonSchema>() -> Result<Self, SchemaError> {
        Ok(Self { optional: true, name: T::schema_name().into_owned(), ..Self::of::<Maybe<T>>()? })
    }

    /// A JSON schema.
    pub fn json(name: impl Into<Cow<'static, str>>, schema: Value) -> Result<Self, SchemaError> {
        let name = name.into().into_owned();
        let validator = jsonschema::validator_for(&schema)
            .map_err(|error| SchemaError::Invalid { name: name.clone(), message: error.to_string() })?;
        Ok(Self {
            name,
            value: Arc::new(schema),
            validator: Arc::new(validator),
            accepts: |_| Ok(()),
            optional: false,
            description: String::new(),
            examples: Vec::new(),
            max_retries: None,
        })
    }

    /// Names it for the model, in place of the type's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Says what it is for.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// Shows what is extracted from which text. The value has to fit.
    pub fn example(mut self, input: impl Into<String>, value: Value) -> Result<Self, SchemaError> {
        let problems = self.problems(&value);
        if !problems.is_empty() {
            return Err(SchemaError::Example { name: self.name, problems });
        }
        self.examples.push((input.into(), value));
        Ok(self)
    }

    /// How often an answer that does not fit is asked for again, in place of what holds for all schemas.
    #[must_use]
    pub fn max_retries(mut self, times: u32) -> Self {
        self.max_retries = Some(times);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The one value in a text that fits, whatever stands around it; or what is wrong, in words a model can use.
    pub fn read(&self, text: &str) -> Result<Value, Vec<String>> {
        if text.len() > MAX_ANSWER_BYTES {
            return Err(vec![format!("the answer has {} bytes, and the limit is {MAX_ANSWER_BYTES}", text.len())]);
        }
        let found = find::values(text);
        let mut fitting: Vec<&Value> = Vec::new();
        for value in &found {
            if self.problems(value).is_empty() && !fitting.contains(&value) {
                fitting.push(value);
            }
        }
        match (&fitting[..], found.last()) {
            ([one], _) => Ok((*one).clone()),
            ([], Some(last)) => Err(self.problems(last)),
            ([], None) => Err(vec!["there is no JSON value in the answer".to_owned()]),
            (several, _) => Err(vec![format!("{} different values fit: answer with one", several.len())]),
        }
    }

    /// Puts the schema into a request: in words for the model, and as an option for its driver.
    pub fn ask_for(&self, request: &mut Request) {
        let told = format!(
            "Your final answer is one JSON value and nothing else: no prose, no code fence. It fits the JSON schema \
             `{}`: {}",
            self.name, self.value
        );
        request.system_prompt = match &*request.system_prompt {
            "" => told.into(),
            before => format!("{before}\n\n{told}").into(),
        };
        if request.options.is_null() {
            request.options = json!({});
        }
        // Options that are no object are a driver's own, and have no place for it.
        if let Some(options) = request.options.as_object_mut() {
            options.insert(RESPONSE_SCHEMA.to_owned(), json!({ "name": self.name, "schema": self.value }));
        }
    }

    /// What a model is told about an answer that did not fit.
    pub(crate) fn complaint(&self, problems: &[String]) -> String {
        let list: Vec<String> = problems.iter().map(|problem| format!("- {problem}")).collect();
        format!(
            "Your answer does not fit the schema `{}`:\n{}\nAnswer again with one JSON value that fits, and nothing else.",
            self.name,
            list.join("\n")
        )
    }

    fn problems(&self, value: &Value) -> Vec<String> {
        let of_schema = self.validator.iter_errors(value).map(|error| match error.instance_path().to_string() {
            place if place.is_empty() => error.to_string(),
            place => format!("{place}: {error}"),
        });
        let mut problems: Vec<String> = of_schema.take(MAX_PROBLEMS).collect();
        if problems.is_empty() {
            problems.extend((self.accepts)(value).err());
        }
        problems.into_iter().map(|problem| problem.chars().take(MAX_PROBLEM_CHARS).collect()).collect()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("name", &self.name).field("schema", &self.value).finish_non_exhaustive()
    }
}
