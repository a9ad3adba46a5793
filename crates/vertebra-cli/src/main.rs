//! The `vertebra` program.

fn main() -> std::process::ExitCode {
    vertebra_cli::main()
}
