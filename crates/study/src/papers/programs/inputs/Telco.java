// Telephone calls with prices in decimal numbers, in an embedded Derby database that is kept in
// memory. Argument: the number of calls.
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

class Telco {
    public static void main(String[] arguments) throws Exception {
        int calls = Integer.parseInt(arguments[0]);
        try (Connection bank = DriverManager.getConnection("jdbc:derby:memory:telco;create=true");
                Statement statement = bank.createStatement()) {
            bank.setAutoCommit(false);
            statement.execute("CREATE TABLE calls(id INT PRIMARY KEY, seconds INT,"
                    + " rate DECIMAL(9,4), price DECIMAL(15,2), note VARCHAR(200))");
            String insertion = "INSERT INTO calls VALUES(?, ?, ?, ?, ?)";
            try (PreparedStatement insert = bank.prepareStatement(insertion)) {
                for (int call = 0; call < calls; call++) {
                    insert.setInt(1, call * 7919 % 1000003);
                    insert.setInt(2, call * 104729 % 3600);
                    insert.setBigDecimal(3, BigDecimal.valueOf(1000 + call % 977, 4));
                    insert.setBigDecimal(4, BigDecimal.ZERO);
                    insert.setString(5, "call " + call + " of subscriber " + call % 10007);
                    insert.executeUpdate();
                }
            }
            BigDecimal tax = new BigDecimal("1.0675");
            try (PreparedStatement update =
                            bank.prepareStatement("UPDATE calls SET price = ? WHERE id = ?");
                    ResultSet rows = bank.createStatement()
                            .executeQuery("SELECT id, seconds, rate FROM calls")) {
                while (rows.next()) {
                    BigDecimal price = rows.getBigDecimal(3)
                            .multiply(BigDecimal.valueOf(rows.getInt(2)))
                            .multiply(tax)
                            .setScale(2, RoundingMode.HALF_EVEN);
                    update.setBigDecimal(1, price);
                    update.setInt(2, rows.getInt(1));
                    update.executeUpdate();
                }
            }
            try (ResultSet sum = statement.executeQuery("SELECT SUM(price), COUNT(*) FROM calls")) {
                sum.next();
                System.out.println(sum.getBigDecimal(1) + " for " + sum.getInt(2) + " calls");
            }
            bank.commit();
        }
    }
}
