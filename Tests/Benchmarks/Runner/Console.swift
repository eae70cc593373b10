import Glibc

/// Figures go to standard output, all else to standard error.
public enum Console {
    public static func figure(_ line: String) { write(1, line) }

    public static func note(_ line: String) { write(2, line) }

    private static func write(_ descriptor: Int32, _ line: String) {
        let bytes = Array((line + "\n").utf8)
        // Nobody is left to tell when the terminal is gone.
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
