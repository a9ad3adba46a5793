//! The launcher of the sandbox as a program of its own, for those that cannot start themselves again.

fn main() {
    vertebra_kit::bash::sandbox::launch_if_asked();
    eprintln!("this program is started by the tool `bash`, with rules and a command; see `Sandbox::launcher`");
    std::process::exit(2);
}
