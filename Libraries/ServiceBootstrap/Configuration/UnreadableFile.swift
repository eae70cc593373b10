import Glibc

/// Files that settings name and that can't be read: a client library would only say so again and again while it connects.
public enum UnreadableFile {
    /// What is wrong with the name of a file; `nil` if this process can read the file.
    public static func problem(_ path: String) -> String? {
        if access(path, R_OK) == 0 { return nil }
        return "must name a file that can be read; \(path): \(String(cString: strerror(errno)))"
    }
}
