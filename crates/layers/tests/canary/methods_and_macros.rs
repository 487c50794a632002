// This file uses every banned method and macro once. `bans.rs` compiles it under Clippy and expects
// a refusal of each. The test adds types from the list.

pub fn files(path: &std::path::Path) {
    let _ = std::fs::read(path);
    let _ = std::fs::read_to_string(path);
    let _ = std::fs::write(path, b"");
    let _ = std::fs::read_dir(path);
    let _ = std::fs::read_link(path);
    let _ = std::fs::metadata(path);
    let _ = std::fs::symlink_metadata(path);
    let _ = std::fs::canonicalize(path);
    let _ = std::fs::exists(path);
    let _ = std::fs::copy(path, path);
    let _ = std::fs::rename(path, path);
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir(path);
    let _ = std::fs::remove_dir_all(path);
    let _ = std::fs::create_dir(path);
    let _ = std::fs::create_dir_all(path);
    let _ = std::fs::hard_link(path, path);
    let _ = path.metadata().map(|found| std::fs::set_permissions(path, found.permissions()));
    let _ = path.exists();
    let _ = path.is_file();
    let _ = path.is_dir();
    let _ = path.canonicalize();
    let _ = path.read_dir();
}

pub fn clocks() {
    std::thread::sleep(core::time::Duration::ZERO);
}

pub fn environment() {
    let _ = std::env::args();
    let _ = std::env::args_os();
    let _ = std::env::var("HOME");
    let _ = std::env::var_os("HOME");
    let _ = std::env::vars();
    let _ = std::env::vars_os();
    let _ = std::env::current_dir();
    let _ = std::env::current_exe();
    let _ = std::env::temp_dir();
    let _ = env!("CARGO_PKG_NAME");
    let _ = option_env!("CARGO_PKG_NAME");
}

pub fn processes() {
    let _ = std::process::id();
}

pub fn exits() -> ! {
    std::process::exit(0)
}

pub fn aborts() -> ! {
    std::process::abort()
}

pub fn terminals() {
    let _ = std::io::stdin();
    let _ = std::io::stdout();
    let _ = std::io::stderr();
    print!("");
    println!();
    eprint!("");
    eprintln!();
}
