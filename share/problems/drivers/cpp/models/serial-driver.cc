#include "report.hpp"

int main()
{
    return report(validate());
}
