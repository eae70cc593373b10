import Foundation
import Glibc

/// Files that are complete, and on the disk, when they have their name; and that only their owner may ever read.
enum DurableFile {
    /// Writes a file in the place of one that has the name.
    /// - Throws: `ToolError` that names the file.
    static func write(_ data: Data, to file: String) throws {
        let new = file + ".new"
        unlink(new)  // of a process that was killed
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(new) }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: data)
            try handle.synchronize()
            try handle.close()
        } catch {
            unlink(new)
            throw ToolError("\(new) can't be written: \(error.localizedDescription)")
        }
        try rename(new, to: file)
    }

    /// Gives a file another name, which another one may have had.
    static func rename(_ file: String, to name: String) throws {
        guard Glibc.rename(file, name) == 0 else { throw failure(name) }
        try sync(folder(of: name))
    }

    /// The path of the folder of a file or folder; empty for a name without one. (`NSString`'s ends the process for a path of one letter.)
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Waits until a file, or the names in a directory, are on the disk.
    static func sync(_ path: String) throws {
        let descriptor = open(path.isEmpty ? "." : path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path) }
    }

    private static func failure(_ path: String) -> ToolError {
        ToolError("\(path) can't be written: \(String(cString: strerror(errno)))")
    }
}
