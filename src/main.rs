//! Parses the command line, runs the command, turns its result into an exit code.

fn main() -> std::process::ExitCode {
    redeliverd::cli::main()
}
