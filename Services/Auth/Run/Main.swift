import Auth

@main
enum Main {
    static func main() async { await AuthServer.main.run { try AuthServer.make(&$0) } }
}
