import ChildProcesses
import DocumentModel
import EventLoop
import Glibc

/// Makes small pictures of large ones with `vipsthumbnail`, in child processes with limits: a hostile picture can crash only its
/// child. Two run at a time, of different apps, so that their memory has a bound and one app's pictures hold up no other's.
struct Thumbnailer: Sendable {
    /// Whose pictures may have a child now.
    let turns = FairGate<ExactText>(places: 2, waiting: 0)
    /// The program: a path, or a name that is looked up in `PATH`.
    let program: String
    /// How long a picture may take.
    let timeout: Duration

    init(program: String = "vipsthumbnail", timeout: Duration = .seconds(10)) {
        self.program = program
        self.timeout = timeout
    }

    /// 10 seconds of CPU time, 1 GiB of memory, 16 MiB of output. When memory runs out, the picture is lost, and not the service.
    private static let restrictions = ChildProcess.Restrictions(
        forbidsNewPrivileges: true, endsFirst: true,
        limits: [.cpuTime: 10, .addressSpace: 1 << 30, .fileSize: 16 << 20, .coreSize: 0, .descriptors: 256])

    /// The picture is untrusted: the process that parses it has no passwords or keys in its environment, and libvips uses no loader
    /// there that it doesn't trust itself.
    private static let environment = ChildProcess.plainEnvironment().merging(["VIPS_BLOCK_UNTRUSTED": "1"]) { $1 }

    /// A JPEG thumbnail, without the original's metadata, which may contain the place where a photo was taken; `nil` when the bytes
    /// aren't a JPEG, PNG, GIF, WebP or HEIC picture that can be read within the limits.
    /// - Parameters:
    ///   - size: its longer side, in pixels.
    ///   - app: the app that the picture belongs to.
    /// - Throws: ``MediaOffloadError`` with the code `local` when this machine can't run the program at the moment, which says
    ///   nothing of the picture; `CancellationError`.
    func thumbnail(of picture: [UInt8], size: Int, for app: String) async throws -> [UInt8]? {
        // Other formats have loaders that were never made for files from strangers, and some of them read other files.
        guard ContentType.sniff(picture) != ContentType.unknown else { return nil }
        let owner = ExactText(app)
        // The jobs that may wait are limited already.
        try await turns.enter(owner, isCounted: false)
        defer { turns.leave(owner) }
        return try await makeThumbnail(of: picture, size: size)
    }

    private func makeThumbnail(of picture: [UInt8], size: Int) async throws -> [UInt8]? {
        do {
            // Users' pictures are in no directory, where they would stay when the service is killed.
            let input = try MemoryFile(picture, for: program), output = try MemoryFile(for: program)
            defer { withExtendedLifetime((input, output)) {} }  // until then their descriptors are open
            let child = try ChildProcess.spawn(
                program, ["/proc/self/fd/3", "--size", "\(size)x\(size)", "-o", ".jpg[Q=75,strip]"],
                environment: Self.environment, output: .standardOutput(output.descriptor),
                descriptors: [input.descriptor], restrictions: Self.restrictions)
            let killer = Task {
                try await Task.sleep(for: timeout)
                child.signalGroup(SIGKILL)
            }
            defer { killer.cancel() }
            guard await child.wait().isSuccess else { return nil }
            let thumbnail = try output.contents()
            return thumbnail.isEmpty ? nil : thumbnail
        } catch {
            throw MediaOffloadError(code: .local, message: "\(error)")
        }
    }
}
