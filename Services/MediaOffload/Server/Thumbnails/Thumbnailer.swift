import ChildProcesses
import Foundation

/// Makes small pictures of large ones with `vipsthumbnail`, in a child process with limits: a hostile picture can crash only the
/// child.
struct Thumbnailer: Sendable {
    /// The longer side of a thumbnail, in pixels.
    let size: Int
    /// How long a picture may take.
    let timeout: Duration

    init(size: Int = 180, timeout: Duration = .seconds(10)) {
        self.size = size
        self.timeout = timeout
    }

    /// 10 seconds of CPU time, 1 GiB of memory, 64 MiB of output.
    private static let restrictions = ChildProcess.Restrictions(
        forbidsNewPrivileges: true,
        limits: [.cpuTime: 10, .addressSpace: 1 << 30, .fileSize: 64 << 20, .coreSize: 0, .descriptors: 256])

    /// A JPEG thumbnail, without the original's metadata, which may contain the place where a photo was taken; `nil` when the bytes
    /// aren't a picture that can be read within the limits.
    func thumbnail(of picture: [UInt8]) async throws -> [UInt8]? {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("thumbnail-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }  // a temporary directory
        let input = directory + "/in", output = directory + "/out.jpg"
        guard FileManager.default.createFile(atPath: input, contents: Data(picture)) else {
            throw ObjectStorageError(code: .disk, message: "can't write \(input)")
        }
        // The picture is untrusted: the environment of the process that parses it has no passwords or keys.
        let child = try ChildProcess.spawn(
            "vipsthumbnail", [input, "--size", "\(size)x\(size)", "-o", "\(output)[Q=75,strip]"],
            environment: ChildProcess.plainEnvironment(), output: .discard, restrictions: Self.restrictions)
        let killer = Task {
            try await Task.sleep(for: timeout)
            child.signal(9)
        }
        defer { killer.cancel() }
        guard await child.wait().isSuccess, let result = FileManager.default.contents(atPath: output) else {
            return nil
        }
        return Array(result)
    }
}
