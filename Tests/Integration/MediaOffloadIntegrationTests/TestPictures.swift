import ChildProcesses
import Foundation
import Testing

/// Pictures that are large because nothing in them can be compressed.
enum TestPictures {
    /// A PNG of about three bytes per pixel.
    static func png(width: Int = 900, height: Int = 800) async throws -> [UInt8] {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer {
            for end in [".ppm", ".png"] { try? FileManager.default.removeItem(atPath: path + end) }  // temporary files
        }
        var generator = SystemRandomNumberGenerator()
        var bytes = Array("P6 \(width) \(height) 255\n".utf8)
        let pixels = width * height * 3
        bytes.reserveCapacity(bytes.count + pixels + 8)
        for _ in 0..<(pixels + 7) / 8 {
            withUnsafeBytes(of: generator.next() as UInt64) { bytes.append(contentsOf: $0) }
        }
        #expect(FileManager.default.createFile(atPath: path + ".ppm", contents: Data(bytes)))
        let run = try await CapturedRun.run(
            "vipsthumbnail", [path + ".ppm", "--size", "\(width)x\(height)", "-o", path + ".png"])
        #expect(run.status.isSuccess, "\(run.output)")
        return Array(try #require(FileManager.default.contents(atPath: path + ".png")))
    }
}
