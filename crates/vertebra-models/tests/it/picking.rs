//! How often a small model picks the right tool: measured, not promised.
//!
//! `cargo test -p vertebra-models --test it -- --ignored --nocapture picking::` prints it, once `cargo xtask test` has
//! fetched the model.

use vertebra::{Limits, prelude::*};
use vertebra_models::React;

use crate::real::{Llama, agent, offer, tools};

/// Requests, the tool that is meant, and what its arguments should contain.
const REQUESTS: [(&str, &str, &str); 20] = [
    ("What is the weather in Paris?", "get_weather", "paris"),
    ("What is the weather in Tokyo?", "get_weather", "tokyo"),
    ("Is it raining in London right now?", "get_weather", "london"),
    ("Tell me the weather in New York.", "get_weather", "new york"),
    ("Read the file notes.txt", "read_file", "notes.txt"),
    ("Show me what is in README.md", "read_file", "readme.md"),
    ("Read src/main.rs and explain it", "read_file", "src/main.rs"),
    ("Open config.toml", "read_file", "config.toml"),
    ("Run the command ls -la", "bash", "ls -la"),
    ("Run cargo test", "bash", "cargo test"),
    ("Execute the command git status", "bash", "git status"),
    ("Run the shell command pwd", "bash", "pwd"),
    ("Search the web for rust hooks", "search", "rust hooks"),
    ("Search for the tallest mountain in Peru", "search", "mountain"),
    ("Look up the population of Norway on the web", "search", "norway"),
    ("Search the web for cheap flights to Rome", "search", "rome"),
    ("Add 2 and 40", "add", "40"),
    ("What is 17 plus 25?", "add", "17"),
    ("Add the numbers 100 and 250", "add", "250"),
    ("What is 3 + 4?", "add", "3"),
];

/// How often the first call is the tool that is meant, and how often with the right arguments.
async fn picked(model: impl Model + Clone) -> (usize, usize) {
    let (mut right_tool, mut right_arguments) = (0, 0);
    for (request, meant, part) in REQUESTS {
        let tools = tools();
        let mut builder = agent(model.clone());
        builder.limits(Limits { steps: Some(1), ..Limits::none() });
        offer(&mut builder, &tools);
        // A run that fails has picked nothing.
        let _ = builder.build().expect("an agent").run(request).await;
        let tool = tools.iter().find(|tool| *tool.spec().name == *meant).expect("the tool");
        if let Some(args) = tool.calls().first() {
            right_tool += 1;
            right_arguments += usize::from(args.to_value().to_string().to_lowercase().contains(part));
        }
    }
    (right_tool, right_arguments)
}

#[tokio::test]
#[ignore = "measures a real model, in minutes: see the top of the file"]
async fn held_to_a_schema_a_small_model_picks_tools_more_often_than_on_its_own() {
    let llama = Llama::start().await;
    let react = || React::over(llama.driver()).retries(0);
    let constrained = picked(react()).await;
    let tolerant = picked(react().unconstrained()).await;
    let native = picked(llama.driver()).await;
    println!("of {} requests, the right tool and the right arguments:", REQUESTS.len());
    for (name, (tool, arguments)) in
        [("ReAct with a schema", constrained), ("ReAct without", tolerant), ("native calls", native)]
    {
        println!("  {name:<20} {tool:>2} {arguments:>2}");
    }
    // A loose floor: chance would be four.
    assert!(constrained.0 >= 10 && constrained.1 >= 8, "{constrained:?}");
    assert!(constrained.0 >= native.0, "{constrained:?} {native:?}");
}
