// Trades as messages in XML: each is written, parsed and answered, as web services do. Arguments:
// the number of accounts, the number of trades.
import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.xml.sax.InputSource;

class Trades {
    record Holding(String symbol, int shares, double price) {}

    public static void main(String[] arguments) throws Exception {
        int accounts = Integer.parseInt(arguments[0]), trades = Integer.parseInt(arguments[1]);
        Map<String, List<Holding>> holdings = new HashMap<>();
        for (int account = 0; account < accounts; account++)
            holdings.put("uid:" + account, new ArrayList<>());
        DocumentBuilder builder = DocumentBuilderFactory.newInstance().newDocumentBuilder();
        long random = 88172645463325252L;
        double worth = 0;
        for (int trade = 0; trade < trades; trade++) {
            random ^= random << 13;
            random ^= random >>> 7;
            random ^= random << 17;
            StringWriter message = new StringWriter();
            message.append("<Envelope><Body><buy>")
                    .append("<account>uid:" + (random >>> 8) % accounts + "</account>")
                    .append("<symbol>s:" + (random >>> 40) % 1000 + "</symbol>")
                    .append("<shares>" + (1 + (random >>> 20) % 100) + "</shares>")
                    .append("<price>" + (100 + (random >>> 30) % 9000) / 100.0 + "</price>")
                    .append("</buy></Body></Envelope>");
            StringReader reader = new StringReader(message.toString());
            Document document = builder.parse(new InputSource(reader));
            Element order = (Element) document.getElementsByTagName("buy").item(0);
            int shares = Integer.parseInt(text(order, "shares"));
            double price = Double.parseDouble(text(order, "price"));
            Holding holding = new Holding(text(order, "symbol"), shares, price);
            List<Holding> of = holdings.get(text(order, "account"));
            of.add(holding);
            for (Holding one : of) worth += one.shares() * one.price();
        }
        System.out.println(worth);
    }

    private static String text(Element order, String name) {
        return order.getElementsByTagName(name).item(0).getTextContent();
    }
}
