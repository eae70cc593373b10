import EventLoop
import Foundation
import Glibc

/// The resident memory of the services, asked for each second.
final class ChaosMemory: Sendable {
    /// What no service may need with the load of a run, in bytes. They need a tenth of it.
    static let limit = 768 << 20

    private let peaks = Locked<[String: Int]>([:])
    private let names: [String]
    private let places: Places

    init(of names: [String], in places: Places) {
        self.names = names
        self.places = places
    }

    /// Asks until the task is cancelled.
    func watch() async {
        while !Task.isCancelled {
            for name in names {
                guard let bytes = bytes(of: name) else { continue }
                peaks.withLock { $0[name] = max($0[name] ?? 0, bytes) }
            }
            try? await Task.sleep(for: .seconds(1))  // cancelled: the loop's condition ends it
        }
    }

    /// The most that each process had, by name.
    var most: [(name: String, bytes: Int)] {
        peaks.withLock { peaks in names.compactMap { name in peaks[name].map { (name, $0) } } }
    }

    /// `nil` while the process doesn't run.
    private func bytes(of name: String) -> Int? {
        guard let pid = try? String(contentsOfFile: places.run + "/\(name).pid", encoding: .utf8),
            let text = try? String(
                contentsOfFile: "/proc/\(pid.trimmingCharacters(in: .whitespacesAndNewlines))/statm", encoding: .utf8),
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
